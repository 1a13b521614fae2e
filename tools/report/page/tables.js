// tables.js — findings, and the tables below the timeline.
function table(head, rows, left = []) {
  return make('table', {}, make('thead', {}, make('tr', {}, head.map((h, i) => make('th', { class: left.includes(i) ? 'left' : undefined }, h)))),
    make('tbody', {}, rows.map(r => make('tr', {}, r.map((c, i) => make('td', { class: left.includes(i) ? 'left' : undefined }, c))))));
}
function findingCard(f) {
  const c = make('article', { class: 'finding' }, make('h3', {}, f.title), make('p', {}, f.evidence), make('p', { class: 'remedy' }, make('b', {}, 'What helps: '), f.remedy),
    make('span', { class: 'rule' }, f.rule + (f.share >= 0.005 ? ', about ' + shareWords(Math.min(1, f.share)) + ' of the workers’ time' : '')));
  const target = f.from_ns !== null ? () => show(f.from_ns - (f.to_ns - f.from_ns), f.to_ns + (f.to_ns - f.from_ns)) : f.codelet ? () => find(f.codelet) : f.worker ? () => find(f.worker) : null;
  if (target) c.append(make('div', {}, make('button', { type: 'button', onclick: () => { target(); gantt.scrollIntoView({ block: 'center' }); } }, 'Show it')));
  return c;
}
function spark(h) {
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'), most = Math.max(...h.tasks), w = 120 / h.tasks.length;
  svg.setAttribute('class', 'spark'); svg.setAttribute('viewBox', '0 0 120 24'); svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', 'distribution of times from ' + timeWords(h.low_ns) + ' to ' + timeWords(h.low_ns * h.factor ** h.tasks.length));
  h.tasks.forEach((n, i) => {
    if (!n) return;
    const r = document.createElementNS(ns, 'rect'), t = document.createElementNS(ns, 'title'), height = 2 + 22 * n / most;
    for (const [k, v] of [['x', i * w], ['y', 24 - height], ['width', w - 0.6], ['height', height], ['fill', 'currentColor']]) r.setAttribute(k, v);
    t.textContent = timeWords(h.low_ns * h.factor ** i) + ' to ' + timeWords(h.low_ns * h.factor ** (i + 1)) + ': ' + countWords(n, 'task', 'tasks');
    r.append(t); svg.append(r);
  });
  return svg;
}
const slept = run.workers.some(w => w.asleep_ns);
function workerRows() {
  const all = [];
  for (const w of run.workers) {
    const parts = [[w.busy_ns, 'var(--accent)', 'busy'], ...kReasons.map(r => [w.idle[r[0] + '_ns'], r[2], r[1]])].filter(p => p[0] > 0);
    all.push([w.name, w.class, w.tasks.toLocaleString('en'), shareWords(w.busy_ns / span), ...(slept ? [shareWords(w.asleep_ns / span)] : []),
      make('div', { class: 'bar', role: 'img', 'aria-label': parts.map(p => p[2] + ' ' + shareWords(p[0] / span)).join(', '), title: parts.map(p => p[2] + ': ' + shareWords(p[0] / span)).join('\n') },
        parts.map(p => styled('i', { width: p[0] / span * 100 + '%', background: p[1] })))]);
  }
  return all;
}
function fillPage() {
  document.title = run.name + ': run report';
  element('name').textContent = run.name;
  element('facts').textContent = countWords(run.tasks, 'task', 'tasks') + ', ' + countWords(run.copies, 'copy', 'copies') + ' in ' + timeWords(run.span_ns) + ' of ' + run.clock + ' time on ' + countWords(run.workers.length, 'worker', 'workers') + ', scheduler ' + run.scheduler;
  const findings = element('findings');
  findings.append(...run.findings.map(findingCard));
  if (!run.findings.length) findings.append(make('article', { class: 'finding good' }, make('h3', {}, run.tasks ? 'Nothing conspicuous was found' : 'No task ran')));
  if (!run.graph && run.tasks) findings.append(make('article', { class: 'finding good' }, make('h3', {}, 'The trace has no graph'), make('p', {}, 'Why workers were idle, chains and the bound need it: record with CONSORT_TRACE_GRAPH=true as well.')));
  if (run.dropped_events) findings.append(make('article', { class: 'finding' }, make('h3', {}, countWords(run.dropped_events, 'event was dropped', 'events were dropped')), make('p', {}, 'The figures are of the rest. Raise the setting trace_buffer, or trace_events where they stay in memory.')));
  const sums = kReasons.map(r => [run.idle[r[0] + '_ns'], r[2], r[1]]).filter(p => p[0] > 0);
  const legend = element('legend');
  const names = [...codeletOrder.keys()];
  for (const name of names.slice(0, 14)) legend.append(make('button', { type: 'button', title: 'Show only these', onclick: () => find(name) }, swatch(kColours[codeletOrder.get(name) % kColours.length]), name));
  if (names.length > 14) legend.append('and ' + (names.length - 14) + ' more');
  if (sums.length) legend.append(make('span', {}, 'idle:'), ...sums.map(p => make('span', {}, swatch(p[1]), p[2])));
  const whys = new Set(copies.why);
  if (whys.size) legend.append(make('span', {}, 'copies:'), ...kWhys.filter((w, i) => whys.has(i)).map(w => make('span', {}, swatch(w[1]), w[0])));
  const workers = table(['worker', 'class', 'tasks', 'busy', ...(slept ? ['asleep'] : []), 'busy, and idle by reason'], workerRows(), [1, slept ? 5 : 4]);
  for (const row of workers.rows) row.lastChild.className = 'left bars';
  element('workers').append(make('div', { class: 'wide', tabindex: '0' }, workers));
  fillPath();
  element('codelets').append(table(['codelet', 'class', 'tasks', 'total', 'least', 'median', '90 %', 'most', 'distribution', 'measured / expected', 'failed'], run.codelets.map(c =>
    [make('span', {}, swatch(kColours[codeletOrder.get(c.codelet) % kColours.length]), c.codelet), c.class, c.tasks.toLocaleString('en'), timeWords(c.sum_ns), timeWords(c.least_ns), timeWords(c.median_ns), timeWords(c.p90_ns), timeWords(c.most_ns), spark(c.histogram),
      c.measured_to_expected === null ? '' : make('span', { class: c.measured_to_expected > 1.8 || c.measured_to_expected < 0.55 ? 'bad' : undefined }, digits(c.measured_to_expected, 2)), c.failed ? make('span', { class: 'bad' }, String(c.failed)) : '']), [1]));
  if (!run.links.length && !run.memories.length) element('links-part').hidden = true;
  if (run.links.length) element('links').append(table(['from', 'to', 'copies', 'bytes', 'for waiting tasks', 'prefetched', 'written back', 'busy', 'GB/s while busy', 'link’s GB/s'], run.links.map(l =>
    [l.from, l.to, l.copies.toLocaleString('en'), byteWords(l.bytes), byteWords(l.demand_bytes), byteWords(l.prefetch_bytes), byteWords(l.save_bytes), shareWords(l.busy_ns / span), l.busy_ns ? digits(l.bytes / l.busy_ns) : '', l.bytes_per_s === null ? '' : digits(l.bytes_per_s / 1e9)]), [1]));
  if (run.memories.length) element('memories').append(table(['memory', 'most in use', 'limit', 'evictions', 'evicted', 'copied there', 'of that, again'], run.memories.map(m =>
    [m.memory, byteWords(m.most_bytes), m.limit_bytes === null ? '' : byteWords(m.limit_bytes), m.evictions.toLocaleString('en'), byteWords(m.evicted_bytes), byteWords(m.arrived_bytes), byteWords(m.arrived_again_bytes)])));
  element('foot').textContent = 'Written by consort ' + run.consort + '. This file needs no network.';
}
function fillPath() {
  const p = run.critical_path, parts = [[p.work_ns, 'var(--accent)', 'tasks run'], [p.data_ns, kReasons[0][2], 'data on their way'], [p.waiting_ns, kReasons[1][2], 'queues and scheduling'], [p.submission_ns, kReasons[3][2], 'submission']].filter(x => x[0] > 0);
  const box = element('pathpart'), total = parts.reduce((s, x) => s + x[0], 0) || 1;
  box.append(make('p', {}, 'Back from the last task, each task’s last cause: ' + countWords(p.tasks, 'task', 'tasks') + '. ' + (p.longest_chain_ns ? 'The longest chain of tasks that wait for each other: ' + timeWords(p.longest_chain_ns) + ' in ' + countWords(p.chain_tasks, 'task', 'tasks') + ', ' + shareWords(p.longest_chain_ns / span) + ' of the run.' : '')),
    make('div', { class: 'phases' }, parts.map(x => styled('i', { flex: x[0] + ' 0 0', background: x[1] }))),
    make('p', { class: 'parts' }, parts.map(x => make('span', {}, swatch(x[1]), x[2] + ' ' + timeWords(x[0]) + ' (' + shareWords(x[0] / total) + ')'))));
  if (run.bound) box.append(make('p', {}, 'No schedule of these tasks takes less than ' + timeWords(run.bound.bound_ns) + ' on these units: this run reached ' + shareWords(run.bound.share) + ' of the best possible speed.'));
}
