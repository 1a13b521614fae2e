// main.js — pointer, wheel, keys, search and theme.
const findBox = element('find');
function find(text) {
  findBox.value = text;
  const n = search(text);
  element('found').textContent = text.trim() ? countWords(n, 'match', 'matches') : '';
}
findBox.addEventListener('input', () => find(findBox.value));
findBox.addEventListener('keydown', e => {
  if (e.key === 'Enter') nextMatch(e.shiftKey ? -1 : 1);
  if (e.key === 'Escape') { find(''); gantt.focus(); }
  e.stopPropagation();
});
function togglePath() {
  view.path = !view.path;
  element('path').setAttribute('aria-pressed', view.path);
  changed();
}
element('in').onclick = () => zoom(0.5);
element('out').onclick = () => zoom(2);
element('fit').onclick = () => show(0, span);
element('path').onclick = togglePath;
element('theme').onclick = () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === 'dark';
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  readTheme(); changed();
};
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readTheme(); changed(); });
const kKeys = [['← →', 'move'], ['+ −', 'zoom'], ['0', 'whole run'], ['N P', 'next, previous task of the worker, or match'], ['/', 'find'], ['C', 'critical path'], ['Esc', 'close, clear'],
  ['drag', 'move'], ['Shift + drag', 'zoom into a part'], ['Ctrl + wheel', 'zoom'], ['click', 'select a task']];
element('keylist').append(make('dl', {}, kKeys.map(([k, what]) => [make('dt', {}, make('kbd', {}, k)), make('dd', {}, what)])));
function toggleKeys() {
  const list = element('keylist');
  list.hidden = !list.hidden;
  element('keys').setAttribute('aria-expanded', !list.hidden);
}
element('keys').onclick = toggleKeys;
const actions = { ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), a: () => pan(-0.15), d: () => pan(0.15), '+': () => zoom(0.6), '=': () => zoom(0.6), w: () => zoom(0.6), '-': () => zoom(1.6), s: () => zoom(1.6),
  0: () => show(0, span), n: () => nextOnWorker(1), p: () => nextOnWorker(-1), '/': () => findBox.focus(), c: togglePath, '?': toggleKeys, Escape: () => { if (view.selected >= 0) select(-1); else find(''); } };
addEventListener('keydown', e => {
  const action = actions[e.key];
  if (!action || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  action();
  e.preventDefault();
});
gantt.addEventListener('wheel', e => {
  if (e.ctrlKey || e.metaKey) zoom(Math.exp(Math.max(-80, Math.min(80, e.deltaY)) / 160), timeAt(e.offsetX));
  else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / 1200);
  else return;
  e.preventDefault();
}, { passive: false });
const laneAt = y => lanes.find(l => y >= l.y && y < l.y + l.h + 2);
const pointers = new Map();
let drag = null;
gantt.addEventListener('pointerdown', e => {
  pointers.set(e.pointerId, e.offsetX);
  gantt.setPointerCapture(e.pointerId);
  drag = { x: e.offsetX, moved: false, from: view.from, to: view.to, part: e.shiftKey };
});
gantt.addEventListener('pointermove', e => {
  if (!pointers.has(e.pointerId)) return hover(e);
  const old = pointers.get(e.pointerId);
  pointers.set(e.pointerId, e.offsetX);
  if (pointers.size === 2) {                       // two fingers
    const [a, b] = [...pointers].map(([id, x]) => [x, id === e.pointerId ? old : x]), was = Math.abs(a[1] - b[1]), is = Math.abs(a[0] - b[0]);
    if (was > 4 && is > 4) zoom(was / is, timeAt((a[0] + b[0]) / 2));
    drag.moved = true;
    return;
  }
  if (Math.abs(e.offsetX - drag.x) > 4) drag.moved = true;
  if (drag.part) { drag.end = e.offsetX; drawGantt(); drawPart(); }
  else if (drag.moved) { const shift = (e.offsetX - drag.x) / scaleOf(); show(drag.from - shift, drag.to - shift); }
});
function drawPart() {
  const g = context(gantt);
  g.globalAlpha = 0.25; g.fillStyle = theme.accent;
  g.fillRect(Math.min(drag.x, drag.end), 0, Math.abs(drag.end - drag.x), size.height);
  g.globalAlpha = 1;
}
function release(e) {
  if (!pointers.delete(e.pointerId) || pointers.size) return;
  const was = drag;
  drag = null;
  if (was.part && was.end !== undefined && Math.abs(was.end - was.x) > 4) return show(Math.min(timeAt(was.x), timeAt(was.end)), Math.max(timeAt(was.x), timeAt(was.end)));
  if (was.moved || e.type !== 'pointerup') return changed();
  const lane = laneAt(e.offsetY);
  if (lane?.kind === 'worker') select(lane.boxes.nearest(timeAt(e.offsetX), 4 / scaleOf()), false);
}
gantt.addEventListener('pointerup', release);
gantt.addEventListener('pointercancel', release);
gantt.addEventListener('pointerleave', () => { tip.hidden = true; });
gantt.addEventListener('dblclick', e => zoom(0.25, timeAt(e.offsetX)));
function tipOf(lane, t) {
  if (lane.kind === 'curve') return lane.name + ': ' + lane.words(valueAt(lane, t)) + (lane.limit ? ' of ' + lane.words(lane.limit) : '');
  const i = lane.boxes.nearest(t, 3 / scaleOf());
  if (lane.kind === 'link') return i < 0 ? '' : byteWords(copies.bytes()[i]) + ', ' + kWhys[copies.why[i]][0] + '\n' + timeWords(copies.took[i]) + ' from ' + momentWords(copies.t0[i]) + (copies.failed().has(i) ? '\nfailed' : '');
  if (i >= 0) return run.codelet_names[runs.codelet[i]] + ' on ' + lane.name + '\n' + timeWords(runs.took[i]) + ' from ' + momentWords(runs.t0[i]) + (runs.failed().has(i) ? '\nfailed' : '');
  for (const k of idleOf(lane.worker)) if (idle.t0[k] <= t && t < idle.t0[k] + idle.took[k]) return 'idle ' + timeWords(idle.took[k]) + ': ' + kReasons[idle.why[k]][1];
  return '';
}
function hover(e) {
  const lane = e.offsetX > size.left ? laneAt(e.offsetY) : null, text = lane ? tipOf(lane, timeAt(e.offsetX)) : '';
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(0, Math.min(e.offsetX + 14, size.width - tip.offsetWidth - 4)) + 'px';
  tip.style.top = e.offsetY + 18 + 'px';
}
let brush = false;
const brushTo = e => { const w = view.to - view.from, at = e.offsetX / size.width * span; show(at - w / 2, at + w / 2); };
overview.addEventListener('pointerdown', e => { brush = true; overview.setPointerCapture(e.pointerId); brushTo(e); });
overview.addEventListener('pointermove', e => { if (brush) brushTo(e); });
overview.addEventListener('pointerup', () => { brush = false; });

readTheme();
fillPage();
layOut();
new ResizeObserver(() => { layOut(); drawGantt(); drawOverview(); }).observe(gantt.parentElement);
drawGantt();
drawOverview();
