// columns.js — reads the columns of numbers that the command wrote (tools/report/page.cpp).
const element = id => document.getElementById(id);
const run = JSON.parse(element('run').textContent);

function bytesOf(id) {
  const text = atob(element('c-' + id).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}
// how: 'plain', 'after' (rising), 'signed', 'near' (differences). Numbers are below 2^53.
function column(id, how = 'plain', Kind = Float64Array) {
  const bytes = bytesOf(id), out = new Kind(+element('c-' + id).dataset.n);
  for (let i = 0, k = 0, last = 0; k < out.length; ++k) {
    let n = 0, factor = 1, b;
    do { b = bytes[i++]; n += (b & 127) * factor; factor *= 128; } while (b & 128);
    if (how === 'after') n = last += n;
    else if (how !== 'plain') {
      n = n % 2 ? -(n + 1) / 2 : n / 2;
      if (how === 'near') n = last += n;
    }
    out[k] = n;
  }
  return out;
}
// Numbers of 64 bits, which are rarely needed.
function bigColumn(id) {
  const bytes = bytesOf(id), out = new BigUint64Array(+element('c-' + id).dataset.n);
  for (let i = 0, k = 0, last = 0n; k < out.length; ++k) {
    let n = 0n, shift = 0n, b;
    do { b = bytes[i++]; n |= BigInt(b & 127) << shift; shift += 7n; } while (b & 128);
    last = BigInt.asUintN(64, last + ((n >> 1n) ^ -(n & 1n)));
    out[k] = last;
  }
  return out;
}
// Decoded at its first use.
const later = make => { let value; return () => value === undefined ? value = make() : value; };

const runs = { t0: column('t0', 'after'), took: column('took'), worker: column('worker', 'plain', Uint32Array), codelet: column('codelet', 'plain', Uint32Array),
  failed: later(() => { const n = column('status'), map = new Map(); column('failed', 'after').forEach((r, k) => map.set(r, n[k])); return map; }), expected: later(() => column('expected')), id: later(() => bigColumn('id')), submitted: later(() => { const origin = column('origin')[0]; return column('submitted', 'near').map((s, i) => s ? runs.t0[i] + origin - s + 2 : 0); }),
  ready: later(() => column('ready')), fetch: later(() => column('fetch')), priority: later(() => { const all = column('priority', 'signed'); return all.length ? all : runs.t0.map(() => 0); }) };
const copies = { t0: column('copyt0', 'after'), took: column('copytook'), link: column('copylink', 'plain', Uint32Array), why: column('copywhy', 'plain', Uint8Array),
  bytes: later(() => column('copybytes')), datum: later(() => bigColumn('copydatum')), failed: later(() => new Set(column('copyfailed', 'after'))) };
const data = { bytes: later(() => column('databytes')), id: later(() => bigColumn('dataids')) };

function lists(count, values, convert) {
  const n = column(count), all = column(values, convert ? 'signed' : 'plain'), ends = new Uint32Array(n.length);
  for (let i = 0, sum = 0; i < n.length; ++i) ends[i] = sum += n[i];
  return i => Array.from(all.subarray(i ? ends[i - 1] : 0, ends[i]), v => convert ? i - v : v);
}
const before = later(() => lists('nbefore', 'before', true));
const usesOf = later(() => lists('nuses', 'uses', false));
const behind = later(() => {                       // the inverse of `before`
  const of = before(), n = runs.t0.length, ends = new Uint32Array(n + 1);
  for (let i = 0; i < n; ++i) for (const p of of(i)) ++ends[p + 1];
  for (let i = 0; i < n; ++i) ends[i + 1] += ends[i];
  const at = ends.slice(), all = new Uint32Array(ends[n]);
  for (let i = 0; i < n; ++i) for (const p of of(i)) all[at[p]++] = i;
  return i => Array.from(all.subarray(ends[i], ends[i + 1]));
});
