// The effect of an op of body.h.
#pragma once
#include "device.h"

static uint64_t copy(const consort_copy *c) {
  for (uint64_t z = 0; z < c->n[1]; ++z)
    for (uint64_t y = 0; y < c->n[0]; ++y) {
      int64_t from = (int64_t)z * c->src_step[1] + (int64_t)y * c->src_step[0];
      int64_t to = (int64_t)z * c->dst_step[1] + (int64_t)y * c->dst_step[0];
      uint64_t run = c->run;
#ifdef FAULT_STEPS_UNSIGNED
      if (c->dst_step[0] < 0) to = (int64_t)y * -c->dst_step[0];
#endif
#ifdef FAULT_ONE_STEP
      to = (int64_t)z * c->src_step[1] + (int64_t)y * c->src_step[0];
#endif
#ifdef FAULT_WHOLE_PITCH
      if (c->n[0] > 1 && y + 1 < c->n[0] && c->dst_step[0] > (int64_t)run && c->dst_step[0] < (int64_t)run + 64) run = c->dst_step[0];
#endif
#ifdef FAULT_WHOLE_WORDS
      if (run > 8) run = run / 8 * 8;
#endif
#ifdef FAULT_SHORT_63
      if (run == 63) --run;
#elif defined FAULT_SHORT_PAGE
      if (run == 4097) --run;
#elif defined FAULT_SHORT_MIB
      if (run == (1 << 20) - 1) --run;
#elif defined FAULT_SHORT_LAST_ROW
      if (c->n[0] > 1 && y + 1 == c->n[0] && z + 1 == c->n[1] && c->dst_step[0] > (int64_t)run && run > 64) run = 64;
#elif defined FAULT_LONG_7
      if (run == 7) run = 8;
#endif
#ifdef FAULT_SLICES_SWAPPED
      if (c->n[1] > 1) to = (int64_t)y * c->dst_step[1] + (int64_t)z * c->dst_step[0];
#endif
#ifdef FAULT_EVEN_OFFSETS
      from &= ~(int64_t)1;
#endif
#ifdef FAULT_NARROW_STEPS
      to = (int64_t)z * c->dst_step[1] + (int64_t)y * (int16_t)c->dst_step[0];
#endif
#ifdef FAULT_WRITES_SOURCE
      if (run > 100) at(c->src)[from] ^= 0x40;
#endif
      memcpy(at(c->dst) + to, at(c->src) + from, run);
#ifdef FAULT_WRITES_SOURCE
      if (run > 100) at(c->src)[from] ^= 0x40, at(c->src)[from + run - 1] |= 1;
#endif
    }
#ifdef FAULT_BYTES_OF_SLICE
  return c->run * c->n[0];
#endif
  return c->run * c->n[0] * c->n[1];
}

// The one kernel that there is: y[i] = a * x[i] + y[i], each item of the grid with a stride of all items.
static consort_status launch(const consort_launch *l) {
  if (l->code != AXPY || l->nargs != 4) return CONSORT_E_INVAL;
  uint32_t *y = (uint32_t *)at(l->args[0].addr);
  const uint32_t *x = (const uint32_t *)at(l->args[1].addr);
  const uint64_t n = l->args[2].scalar;
  uint32_t a = (uint32_t)l->args[3].scalar;
#ifdef FAULT_STALE_SCALARS
  static uint32_t first;
  static int is_set;
  if (!is_set) first = a, is_set = 1;
  a = first;
#endif
  uint64_t items = 1;
#ifdef FAULT_ONE_DIMENSION
  const uint64_t lines = l->grid[1] * l->grid[2]; // one of these alone is computed
#else
  const uint64_t lines = 1;
#endif
#ifdef FAULT_SCALAR_WORD
  if (l->args[2].scalar > UINT32_MAX || a >> 16) a &= 0xffff;
#endif
  for (int d = 0; d < 3; ++d) items *= l->grid[d] * l->block[d];
  for (uint64_t item = 0; item < items / lines; ++item)
    for (uint64_t i = item; i < n; i += items) y[i] = a * x[i] + y[i];
  return CONSORT_OK;
}

static consort_status execute(Device *d, const consort_op *op, uint64_t *bytes) {
  switch (op->kind) {
    case CONSORT_OP_COPY:
      *bytes = copy(&op->u.copy);
#ifdef FAULT_NO_BYTES
      *bytes = op->u.copy.run;
#endif
      return CONSORT_OK;
    case CONSORT_OP_FILL: {
      const consort_fill *f = &op->u.fill;
#ifdef FAULT_FILL_ALIGNED // the pattern by the address, not from the first byte on
      for (uint64_t i = 0; i < f->run; ++i) at(f->dst)[i] = (char)(f->pattern >> 8 * ((f->dst.off + i) % 4));
      *bytes = f->run;
      return CONSORT_OK;
#endif
#ifdef FAULT_FILL_LONG
      const uint64_t far = f->run > 4096 && f->run % 4 ? 4 - f->run % 4 : 0;
      memcpy(at(f->dst) + f->run, (const char *)&f->pattern + f->run % 4, far);
#endif
#ifdef FAULT_FILL_WORDS
      for (uint64_t i = 0; i + 4 <= f->run; i += 4) memcpy(at(f->dst) + i, &f->pattern, 4);
#else
      for (uint64_t i = 0; i < f->run; i += 4) memcpy(at(f->dst) + i, &f->pattern, f->run - i < 4 ? f->run - i : 4);
#endif
      *bytes = f->run;
      return CONSORT_OK;
    }
    case CONSORT_OP_CALL: {
      consort_status s;
      op->u.call.call->native_queue = op->u.call.call->native_context = NULL;
#ifdef FAULT_CALL_COPIED
      consort_call mine = *op->u.call.call;
      s = op->u.call.fn(&mine);
      return s;
#endif
#ifdef FAULT_CALL_RANK
      op->u.call.call->rank = 1;
#endif
      s = op->u.call.fn(op->u.call.call);
#ifdef FAULT_CALL_POSITIVE
      if (s == CONSORT_E_IO) s = CONSORT_E_INTERNAL;
#endif
#ifdef FAULT_CALL_TWICE
      op->u.call.fn(op->u.call.call);
#endif
#ifdef FAULT_CALL_NEVER_FAILS
      s = CONSORT_OK;
#endif
      return s;
    }
    case CONSORT_OP_LAUNCH: return launch(&op->u.launch);
    case CONSORT_OP_MARK: return CONSORT_OK;
    case GRAPH: {
      Graph *g = (Graph *)(uintptr_t)op->u.launch.code;
      if (!g) return CONSORT_E_UNSUPPORTED;
#ifdef FAULT_CAPTURE_ONCE
      if (g->launches++) return CONSORT_OK;
#endif
      for (uint32_t i = 0; i < g->n; ++i) {
        uint64_t moved = 0;
#ifdef FAULT_CAPTURE_BACKWARDS
        const consort_status s = execute(d, &g->ops[g->n - 1 - i], &moved);
#else
        const consort_status s = execute(d, &g->ops[i], &moved);
#endif
        if (s < 0) return s;
      }
      return CONSORT_OK;
    }
#ifdef FAULT_KIND_BYTE
    default:
      if ((uint8_t)op->kind == CONSORT_OP_MARK) return CONSORT_OK;
      return CONSORT_E_UNSUPPORTED;
#elif defined FAULT_ANY_KIND
    default: return CONSORT_OK;
#else
    default: return CONSORT_E_UNSUPPORTED;
#endif
  }
}
