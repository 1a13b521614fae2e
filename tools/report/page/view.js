// view.js — the part of the run that is shown, what is selected and what is searched for. Others listen to changes.
const view = { from: 0, to: span, selected: -1, path: false, match: null };
const listeners = [];
let pending = false;
function changed() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; for (const f of listeners) f(); });
}
function show(from, to) {
  const least = Math.max(10, span * 1e-9), width = Math.min(span * 1.04, Math.max(least, to - from)), middle = (from + to) / 2;
  view.from = Math.min(Math.max(middle - width / 2, -width * 0.02), span + width * 0.02 - width);
  view.to = view.from + width;
  changed();
}
const zoom = (factor, at = (view.from + view.to) / 2) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);
const pan = share => show(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);
function select(i, move = true) {
  view.selected = i;
  if (move && i >= 0) {
    const t0 = runs.t0[i], t1 = t0 + runs.took[i], width = view.to - view.from;
    if (t1 < view.from || t0 > view.to || t1 - t0 < width / 400) {
      const w = Math.min(width, Math.max((t1 - t0) * 12, span * 1e-6));
      show((t0 + t1 - w) / 2, (t0 + t1 + w) / 2);
    }
  }
  changed();
}
// Sets what is searched for; returns the number of matches.
function search(text) {
  const q = text.trim().toLowerCase();
  if (!q) { view.match = null; changed(); return 0; }
  const byCodelet = run.codelet_names.map(n => n.toLowerCase().includes(q)), byWorker = run.workers.map(w => w.name.toLowerCase() === q);
  const hex = /^[0-9a-f]{1,16}$/.test(q) ? BigInt('0x' + q) : null, match = new Uint8Array(runs.t0.length);
  let n = 0;
  for (let i = 0; i < match.length; ++i) if (byCodelet[runs.codelet[i]] || byWorker[runs.worker[i]]) match[i] = 1, ++n;
  if (!n && hex !== null) { const id = runs.id(); for (let i = 0; i < match.length; ++i) if (id[i] === hex) match[i] = 1, ++n; }
  view.match = match;
  changed();
  return n;
}
function nextMatch(step) {
  const n = runs.t0.length;
  for (let k = 1, i = view.selected < 0 && step < 0 ? n : view.selected; k <= n; ++k) {
    i = (i + step + n) % n;
    if (!view.match || view.match[i]) return select(i);
  }
}
function nextOnWorker(step) {
  const w = view.selected < 0 ? -1 : runs.worker[view.selected], n = runs.t0.length;
  if (view.match || w < 0) return nextMatch(step);
  for (let i = view.selected + step; i >= 0 && i < n; i += step) if (runs.worker[i] === w) return select(i);
}
