// spirv_words.hpp — the numbers of SPIR-V that the double knows.
#pragma once
#include <cstdint>

namespace ze_double::spirv {

enum Op : uint32_t {
  kUndef = 1, kExtInstImport = 11, kExtInst = 12, kMemoryModel = 14, kEntryPoint = 15, kExecutionMode = 16, kTypeVoid = 19, kTypeBool = 20,
  kTypeInt = 21, kTypeFloat = 22, kTypeVector = 23, kTypeArray = 28, kTypeStruct = 30, kTypePointer = 32, kTypeFunction = 33, kConstantTrue = 41,
  kConstantFalse = 42, kConstant = 43, kConstantComposite = 44, kConstantNull = 46, kFunction = 54, kFunctionParameter = 55, kFunctionEnd = 56,
  kFunctionCall = 57, kVariable = 59, kLoad = 61, kStore = 62, kCopyMemorySized = 64, kAccessChain = 65, kInBoundsAccessChain = 66,
  kPtrAccessChain = 67, kInBoundsPtrAccessChain = 70, kDecorate = 71, kVectorExtractDynamic = 77, kVectorInsertDynamic = 78, kVectorShuffle = 79,
  kCompositeConstruct = 80, kCompositeExtract = 81, kCompositeInsert = 82, kCopyObject = 83, kConvertFToU = 109, kConvertFToS = 110,
  kConvertSToF = 111, kConvertUToF = 112, kUConvert = 113, kSConvert = 114, kFConvert = 115, kConvertPtrToU = 117, kConvertUToPtr = 120,
  kPtrCastToGeneric = 121, kGenericCastToPtr = 122, kBitcast = 124, kSNegate = 126, kFNegate = 127, kIAdd = 128, kFAdd = 129, kISub = 130,
  kFSub = 131, kIMul = 132, kFMul = 133, kUDiv = 134, kSDiv = 135, kFDiv = 136, kUMod = 137, kSRem = 138, kSMod = 139, kFRem = 140, kFMod = 141,
  kVectorTimesScalar = 142, kDot = 148, kIsNan = 156, kIsInf = 157, kLogicalEqual = 164, kLogicalNotEqual = 165, kLogicalOr = 166, kLogicalAnd = 167,
  kLogicalNot = 168, kSelect = 169, kIEqual = 170, kINotEqual = 171, kUGreaterThan = 172, kSGreaterThan = 173, kUGreaterThanEqual = 174,
  kSGreaterThanEqual = 175, kULessThan = 176, kSLessThan = 177, kULessThanEqual = 178, kSLessThanEqual = 179, kFOrdEqual = 180,
  kFUnordEqual = 181, kFOrdNotEqual = 182, kFUnordNotEqual = 183, kFOrdLessThan = 184, kFUnordLessThan = 185, kFOrdGreaterThan = 186,
  kFUnordGreaterThan = 187, kFOrdLessThanEqual = 188, kFUnordLessThanEqual = 189, kFOrdGreaterThanEqual = 190, kFUnordGreaterThanEqual = 191,
  kShiftRightLogical = 194, kShiftRightArithmetic = 195, kShiftLeftLogical = 196, kBitwiseOr = 197, kBitwiseXor = 198, kBitwiseAnd = 199,
  kNot = 200, kControlBarrier = 224, kMemoryBarrier = 225, kPhi = 245, kLoopMerge = 246, kSelectionMerge = 247, kLabel = 248, kBranch = 249,
  kBranchConditional = 250, kSwitch = 251, kReturn = 253, kReturnValue = 254, kUnreachable = 255, kLifetimeStart = 256, kLifetimeStop = 257
};

enum BuiltIn : uint32_t {
  kNumWorkgroups = 24, kWorkgroupSize = 25, kWorkgroupId = 26, kLocalInvocationId = 27, kGlobalInvocationId = 28, kLocalInvocationIndex = 29,
  kWorkDim = 30, kGlobalSize = 31, kEnqueuedWorkgroupSize = 32, kGlobalOffset = 33, kGlobalLinearId = 34
};

enum Storage : uint32_t { kUniformConstant = 0, kInput = 1, kWorkgroup = 4, kCrossWorkgroup = 5, kFunctionStorage = 7 };

enum Math : uint32_t {  // of OpenCL.std
  kAcos = 0, kAsin = 3, kAtan = 6, kAtan2 = 7, kCbrt = 11, kCeil = 12, kCopysign = 13, kCos = 14, kCosh = 15, kErf = 18, kExp = 19, kExp2 = 20, kFabs = 23,
  kFloor = 25, kFma = 26, kFmax = 27, kFmin = 28, kFmodMath = 29, kHypot = 32, kLog = 37, kLog2 = 38, kLog10 = 39, kMad = 42, kPow = 48, kPowr = 50,
  kRint = 53, kRound = 55, kRsqrt = 56, kSin = 57, kSinh = 59, kSqrt = 61, kTan = 62, kTanh = 63, kTrunc = 66, kFclamp = 95, kFmaxCommon = 97, kFminCommon = 98,
  kMix = 99, kSAbs = 141, kSClamp = 149, kUClamp = 150, kSMax = 156, kUMax = 157, kSMin = 158, kUMin = 159, kSMad24 = 165, kUMad24 = 166, kSMul24 = 167,
  kUMul24 = 168
};

}  // namespace ze_double::spirv
