// The output of the double's compiler is a bundle as clang's, with a host image that the double executes. Beside it
// stands an image as for a device, with nothing but the notes of AMD's compilers about kernels and their parameters.
#pragma once
#include <string>

namespace gpu {

// image: a host image of nvrtc_program.hpp. "": it has no kernels.
std::string bundle_of(const std::string &image);

// The host image in a bundle; any other image is returned unchanged.
const void *host_image_in(const void *image);

}  // namespace gpu
