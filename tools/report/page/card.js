// card.js — what is known of the selected task.
const card = element('card');
function entry(list, name, ...value) { list.append(make('dt', {}, name), make('dd', {}, ...value)); }
function taskButton(i) {
  return make('button', { type: 'button', onclick: () => select(i), title: timeWords(runs.took[i]) + ' on ' + run.workers[runs.worker[i]].name },
    swatch(colourOf[runs.codelet[i]]), run.codelet_names[runs.codelet[i]] + ' ' + runs.id()[i].toString(16));
}
function chips(all) {
  const kMost = 24, box = make('div', { class: 'chips' }, all.slice(0, kMost).map(taskButton));
  if (all.length > kMost) box.append('and ' + (all.length - kMost) + ' more');
  return all.length ? box : 'none';
}
// The last copy of the datum that reached the worker's memory before the task began.
function sourceOf(datum, memory, begin) {
  const ids = copies.datum();
  let best = -1;
  for (let k = 0; k < ids.length && copies.t0[k] <= begin; ++k)
    if (ids[k] === datum && run.links[copies.link[k]].to === memory && copies.t0[k] + copies.took[k] <= begin + 1000) best = k;
  return best;
}
function inputsOf(i) {
  const memory = run.workers[runs.worker[i]].memory, names = ['read', 'changed beside others', 'read and written', 'written'];
  return usesOf()(i).map(use => {
    const d = Math.floor(use / 4), id = data.id()[d], k = use % 4 === 3 ? -1 : sourceOf(id, memory, runs.t0[i]);
    const way = use % 4 === 3 ? 'made here' : k < 0 ? 'was there' : 'from ' + run.links[copies.link[k]].from + ', ' + kWhys[copies.why[k]][0] + ', ' + timeWords(copies.took[k]) + ', ended ' + timeWords(runs.t0[i] - copies.t0[k] - copies.took[k]) + ' before';
    return make('tr', {}, make('td', {}, id.toString(16)), make('td', { class: 'left' }, names[use % 4]), make('td', {}, byteWords(data.bytes()[d])), make('td', { class: 'left' }, way));
  });
}
function momentsOf(i) {
  const list = make('dl'), t0 = runs.t0[i], submitted = runs.submitted()[i], ready = runs.ready()[i], fetch = runs.fetch()[i];
  if (submitted) entry(list, 'submitted', momentWords(Math.max(0, t0 - submitted + 1)));
  if (ready) entry(list, 'ready', momentWords(Math.max(0, t0 - ready + 1)));
  if (fetch) entry(list, 'data asked for', momentWords(Math.max(0, t0 - fetch + 1)));
  entry(list, 'began', momentWords(t0));
  entry(list, 'ended', momentWords(t0 + runs.took[i]));
  return list;
}
// The life of the task as a bar: order, queue, data, run.
function phasesOf(i) {
  const s = runs.submitted()[i], r = runs.ready()[i], f = Math.min(runs.fetch()[i], r || Infinity), parts = [];
  if (s && r) parts.push([s - r, kReasons[2][2], 'waited for other tasks']);
  if (r) parts.push([r - 1 - Math.max(0, f - 1), kReasons[1][2], 'ready, in a queue']);
  if (f > 1) parts.push([f - 1, kReasons[0][2], 'waited for its data']);
  parts.push([runs.took[i], colourOf[runs.codelet[i]], 'ran']);
  const shown = parts.filter(p => p[0] > 0);
  return [make('div', { class: 'phases' }, shown.map(p => styled('i', { flex: p[0] + ' 0 0', background: p[1] }))),
    make('p', { class: 'parts' }, shown.map(p => make('span', {}, swatch(p[1]), p[2] + ' ' + timeWords(p[0]))))];
}
function showCard() {
  const i = view.selected;
  if (card.dataset.of === String(i)) return;
  card.dataset.of = i;
  card.hidden = i < 0;
  if (i < 0) return;
  const facts = make('dl'), expected = runs.expected()[i], took = runs.took[i], of = run.workers[runs.worker[i]];
  entry(facts, 'worker', of.name + (of.memory ? ' at ' + of.memory : ''));
  entry(facts, 'took', timeWords(took));
  entry(facts, 'expected', expected ? timeWords(expected - 1) + (expected > 1 ? ' (' + digits(took / (expected - 1), 2) + ' of it)' : '') : 'unknown');
  if (runs.priority()[i]) entry(facts, 'priority', String(runs.priority()[i]));
  if (runs.failed().has(i)) entry(facts, 'status', make('span', { class: 'bad' }, 'failed: −' + runs.failed().get(i)));
  if (onPath()[i]) entry(facts, 'critical path', 'yes');
  const parts = [make('div', {}, facts), make('div', {}, momentsOf(i))];
  const around = run.graph ? [make('div', {}, make('b', {}, 'After'), chips(before()(i))), make('div', {}, make('b', {}, 'Before'), chips(behind()(i)))] : [];
  const inputs = run.graph ? inputsOf(i) : [];
  card.replaceChildren(make('div', { class: 'top' }, swatch(colourOf[runs.codelet[i]]), make('h3', {}, run.codelet_names[runs.codelet[i]] + ', task ' + runs.id()[i].toString(16)),
    make('button', { type: 'button', class: 'close', onclick: () => { select(-1); gantt.focus(); } }, 'Close')),
    ...phasesOf(i), make('div', { class: 'columns' }, parts), make('div', { class: 'columns around' }, around),
    inputs.length ? make('div', { class: 'wide' }, make('table', {}, make('thead', {}, make('tr', {}, make('th', {}, 'datum'), make('th', { class: 'left' }, 'use'), make('th', {}, 'size'), make('th', { class: 'left' }, 'where from'))), make('tbody', {}, inputs))) : '');
}
listeners.push(showCard);
