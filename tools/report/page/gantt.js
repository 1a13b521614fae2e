// gantt.js — lanes of workers, links, ready tasks and memories over time, on one canvas.
//
// A lane draws boxes where they are wide enough; narrower ones are summed by pixel. Runs are summed ahead in chunks, and
// a chunk within one pixel is drawn as one, so that the work of a picture depends on its pixels.
class Boxes {                                      // of one lane: numbers of runs or copies, by begin
  constructor(all, source, kindOf) {
    this.all = all; this.source = source; this.kindOf = kindOf;
    const n = all.length, t0 = source.t0, took = source.took, least = { size: 8, busy: new Float64Array(Math.ceil(n / 8)), kind: new Uint32Array(Math.ceil(n / 8)) };
    this.until = new Float64Array(n);              // the latest end so far: rises, so it can be searched
    for (let k = 0, end = 0, most = 0; k < n; ++k) {
      const i = all[k], t1 = t0[i] + took[i], c = k >> 3;
      if (k % 8 === 0) most = -1;
      if (t1 > end) least.busy[c] += t1 - Math.max(t0[i], end), end = t1;
      if (took[i] > most) most = took[i], least.kind[c] = kindOf(i);
      this.until[k] = end;
    }
    const middle = this.above(least);
    this.levels = [this.above(middle), middle, least];
  }
  above(level) {                                   // chunks of eight chunks; the kind of the busiest stands for all
    const n = Math.ceil(level.busy.length / 8), next = { size: level.size * 8, busy: new Float64Array(n), kind: new Uint32Array(n) };
    for (let k = 0, most = 0; k < level.busy.length; ++k) {
      if (k % 8 === 0) most = -1;
      next.busy[k >> 3] += level.busy[k];
      if (level.busy[k] > most) most = level.busy[k], next.kind[k >> 3] = level.kind[k];
    }
    return next;
  }
  // The largest chunk that begins with box k and ends before that time; undefined: none.
  chunkAt(k, before) {
    if (k % 8) return undefined;
    for (const level of this.levels)
      if (k % level.size === 0 && this.until[Math.min(this.all.length, k + level.size) - 1] < before) return level;
    return undefined;
  }
  first(from) { let a = 0, b = this.all.length; while (a < b) { const m = (a + b) >> 1; if (this.until[m] > from) b = m; else a = m + 1; } return a; }
  at(t) {                                          // the innermost box there; -1: none
    let best = -1;
    for (let k = this.first(t); k < this.all.length && this.source.t0[this.all[k]] <= t; ++k)
      if (t < this.source.t0[this.all[k]] + this.source.took[this.all[k]]) best = this.all[k];
    return best;
  }
  nearest(t, reach) {                              // also a box that is too narrow to hit
    const hit = this.at(t);
    if (hit >= 0) return hit;
    let best = -1, far = reach;
    for (let k = this.first(t - reach); k < this.all.length && this.source.t0[this.all[k]] <= t + reach; ++k) {
      const t0 = this.source.t0[this.all[k]], d = Math.max(t0 - t, t - t0 - this.source.took[this.all[k]]);
      if (d < far) far = d, best = this.all[k];
    }
    return best;
  }
}
function grouped(source, by, n) {
  const counts = new Uint32Array(n + 1);
  for (const g of by) ++counts[g + 1];
  for (let g = 0; g < n; ++g) counts[g + 1] += counts[g];
  const at = counts.slice(), all = new Uint32Array(by.length);
  for (let i = 0; i < by.length; ++i) all[at[by[i]]++] = i;
  return g => all.subarray(counts[g], counts[g + 1]);
}
const lanes = [];
{
  const byWorker = grouped(runs, runs.worker, run.workers.length);
  run.workers.forEach((w, i) => lanes.push({ name: w.name, kind: 'worker', worker: i, boxes: new Boxes(byWorker(i), runs, r => runs.codelet[r]) }));
  const byLink = grouped(copies, copies.link, run.links.length);
  run.links.forEach((l, i) => lanes.push({ name: l.from + ' → ' + l.to, kind: 'link', link: i, boxes: new Boxes(byLink(i), copies, c => copies.why[c]) }));
}
const idle = { worker: column('idleworker', 'plain', Uint32Array), t0: column('idlet0', 'near'), took: column('idletook'), why: column('idlewhy', 'plain', Uint8Array) };
const idleOf = grouped(idle, idle.worker, run.workers.length);
const pathRuns = later(() => column('pathrun', 'near'));
const onPath = later(() => { const set = new Uint8Array(runs.t0.length); for (const r of pathRuns()) set[r] = 1; return set; });

const gantt = element('gantt'), overview = element('overview'), tip = element('tip');
const size = { width: 0, left: 0, lane: 22, link: 16, top: 22 };
let theme = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['paper', 'card', 'line', 'ink', 'soft', 'accent', 'lane', 'mark']) theme[name] = style.getPropertyValue('--' + name).trim();
}
function layOut() {
  const width = gantt.parentElement.clientWidth, phone = width < 620, n = run.workers.length;
  size.width = width;
  size.left = phone ? 92 : 150;
  size.lane = n > 64 ? 10 : n > 32 ? 14 : phone ? 20 : 24;
  size.link = n > 64 ? 8 : 14;
  let y = size.top;
  for (const lane of lanes) {
    if (lane.kind !== 'worker' && lanes[lanes.indexOf(lane) - 1]?.kind === 'worker') y += 6;
    lane.y = y;
    lane.h = lane.kind === 'worker' ? size.lane : lane.kind === 'link' ? size.link : 46;
    y += lane.h + (lane.kind === 'curve' ? 8 : 2);
  }
  size.height = y + 6;
  for (const [canvas, height] of [[gantt, size.height], [overview, 34]]) {
    const w = Math.round(width * devicePixelRatio), h = Math.round(height * devicePixelRatio);
    if (canvas.width !== w || canvas.height !== h) canvas.width = w, canvas.height = h, canvas.style.height = height + 'px';
  }
}
const scaleOf = () => (size.width - size.left - 1) / (view.to - view.from);
const xOf = t => size.left + (t - view.from) * scaleOf();
const timeAt = x => view.from + (x - size.left) / scaleOf();
function context(canvas) {
  const g = canvas.getContext('2d');
  g.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  g.font = '12px system-ui, "DejaVu Sans", sans-serif';
  g.textBaseline = 'middle';
  return g;
}
function fit(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  while (text.length > 1 && g.measureText(text + '…').width > width) text = text.slice(0, -1);
  return text.length > 1 ? text + '…' : '';
}
function drawAxis(g) {
  const width = view.to - view.from, about = width / Math.max(2, (size.width - size.left) / 110), base = 10 ** Math.floor(Math.log10(about));
  const step = base * (about / base > 5 ? 10 : about / base > 2 ? 5 : about / base > 1 ? 2 : 1);
  g.strokeStyle = theme.line; g.fillStyle = theme.soft; g.lineWidth = 1; g.textAlign = 'center';
  const unit = width < 2e4 && span < 1e9 ? [1, 'ns'] : width < 1e7 ? [1e3, 'µs'] : width < 1e10 ? [1e6, 'ms'] : [1e9, 's'];
  const places = Math.max(0, -Math.floor(Math.log10(step / unit[0]) + 1e-9));
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(xOf(t)) + 0.5;
    if (x < size.left) continue;
    g.beginPath(); g.moveTo(x, 18); g.lineTo(x, size.height); g.stroke();
    if (x > size.left + 18 && x < size.width - 24) g.fillText((t / unit[0]).toFixed(Math.min(places, 6)) + ' ' + unit[1], x, 9);
  }
}
// Sums by pixel: how much of it is filled, and by which kind most.
const pixelShare = new Float32Array(8192), pixelKind = new Uint32Array(8192), pixelBest = new Float32Array(8192);
function drawBoxes(g, lane, colours, dim) {
  const b = lane.boxes, scale = scaleOf(), n = b.all.length, y = lane.y, h = lane.kind === 'worker' && lane.h > 12 ? lane.h - 5 : lane.h, columns = Math.min(8191, Math.ceil(size.width - size.left));
  pixelShare.fill(0, 0, columns + 1); pixelBest.fill(0, 0, columns + 1);
  const put = (x, share, kind) => {
    const p = Math.floor(x);
    if (p < 0 || p > columns) return;
    pixelShare[p] += share;
    if (share > pixelBest[p]) pixelBest[p] = share, pixelKind[p] = kind;
  };
  const wide = [];
  for (let k = b.first(view.from); k < n;) {
    const i = b.all[k], t0 = b.source.t0[i];
    if (t0 >= view.to) break;
    const chunk = !dim && t0 >= view.from ? b.chunkAt(k, t0 + 1 / scale) : undefined;
    if (chunk) { put((t0 - view.from) * scale, chunk.busy[k / chunk.size] * scale, chunk.kind[k / chunk.size]); k += chunk.size; continue; }
    const x0 = (t0 - view.from) * scale, x1 = x0 + b.source.took[i] * scale;
    if (x1 - x0 >= 1.5) wide.push(i);
    else if (!dim || dim[i]) {
      const edge = Math.min(x1, Math.floor(x0) + 1);
      put(x0, edge - x0, b.kindOf(i));
      if (x1 > edge) put(edge, x1 - edge, b.kindOf(i));
      if (dim) put(x0, 1, b.kindOf(i));            // a match is always seen
    }
    ++k;
  }
  const shade = p => Math.ceil(Math.min(1, pixelShare[p]) * 12);
  for (let p = 0; p <= columns;) {                 // neighbours that look alike are one box
    const s = shade(p), kind = pixelKind[p], first = p++;
    if (!s) continue;
    while (p <= columns && pixelKind[p] === kind && shade(p) === s) ++p;
    g.globalAlpha = 0.18 + 0.82 * s / 12;
    g.fillStyle = colours[kind] || '#888';
    g.fillRect(size.left + first, y, p - first, h);
  }
  g.globalAlpha = 1;
  for (const i of wide) {
    const x0 = Math.max(size.left, xOf(b.source.t0[i])), x1 = Math.min(size.width, xOf(b.source.t0[i] + b.source.took[i])), w = x1 - x0;
    if (w <= 0) continue;
    g.globalAlpha = dim && !dim[i] ? 0.16 : 1;
    g.fillStyle = colours[b.kindOf(i)] || '#888';
    g.fillRect(x0, y, Math.max(1, w - (w > 3 ? 1 : 0)), h);
    if (lane.kind === 'worker' && w > 34 && h >= 12) {
      g.fillStyle = '#0b0d10'; g.textAlign = 'left';
      g.fillText(fit(g, run.codelet_names[b.kindOf(i)], w - 8), x0 + 4, y + h / 2 + 0.5);
    }
    if (lane.kind === 'worker' && runs.failed().has(i)) { g.fillStyle = theme.mark; g.fillRect(x0, y, Math.max(2, w), 3); }
  }
  g.globalAlpha = 1;
}
function drawIdle(g, lane) {
  if (lane.h <= 12) return;
  for (const k of idleOf(lane.worker)) {
    const x0 = Math.max(size.left, xOf(idle.t0[k])), x1 = Math.min(size.width, xOf(idle.t0[k] + idle.took[k]));
    if (x1 <= x0) continue;
    g.fillStyle = kReasons[idle.why[k]][2];
    g.fillRect(x0, lane.y + lane.h - 4, Math.max(0.7, x1 - x0), 4);
  }
}
function outline(g, i, colour, width) {
  const lane = lanes[runs.worker[i]], x0 = Math.max(size.left, xOf(runs.t0[i])), x1 = Math.min(size.width, xOf(runs.t0[i] + runs.took[i]));
  if (x1 < size.left || x0 > size.width) return;
  g.strokeStyle = colour; g.lineWidth = width;
  g.strokeRect(x0, lane.y + 0.5, Math.max(2, x1 - x0), lane.h - (lane.h > 12 ? 6 : 1));
}
function arrow(g, a, b, colour) {                  // from the end of one run to the begin of another
  const from = lanes[runs.worker[a]], to = lanes[runs.worker[b]], x0 = xOf(runs.t0[a] + runs.took[a]), x1 = xOf(runs.t0[b]);
  const y0 = from.y + from.h / 2, y1 = to.y + to.h / 2, bend = Math.max(8, Math.abs(x1 - x0) / 3);
  g.strokeStyle = colour; g.lineWidth = 1.5;
  g.beginPath(); g.moveTo(x0, y0); g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1); g.stroke();
}
function drawPath(g) {
  const steps = pathRuns();
  let last = -1;
  for (const r of steps) {
    outline(g, r, theme.ink, 2);
    if (last >= 0 && xOf(runs.t0[r]) > size.left - 400 && xOf(runs.t0[last]) < size.width + 400 && xOf(runs.t0[r]) - xOf(runs.t0[last]) > 2) arrow(g, last, r, theme.ink);
    last = r;
  }
}
function drawGantt() {
  const g = context(gantt);
  g.clearRect(0, 0, size.width, size.height);
  drawAxis(g);
  const whyColours = kWhys.map(w => w[1]);
  for (const lane of lanes) {
    if (lane.kind === 'curve') { drawCurve(g, lane); continue; }
    g.fillStyle = theme.lane;
    g.fillRect(size.left, lane.y, size.width - size.left, lane.kind === 'worker' && lane.h > 12 ? lane.h - 5 : lane.h);
    g.save(); g.beginPath(); g.rect(size.left, 0, size.width - size.left, size.height); g.clip();
    const dim = lane.kind === 'worker' ? view.path ? onPath() : view.match : null;
    drawBoxes(g, lane, lane.kind === 'worker' ? colourOf : whyColours, dim);
    if (lane.kind === 'worker') drawIdle(g, lane);
    g.restore();
  }
  g.save(); g.beginPath(); g.rect(size.left, 0, size.width - size.left, size.height); g.clip();
  if (view.path) drawPath(g);
  if (view.selected >= 0) {
    if (run.graph) {
      for (const p of before()(view.selected).slice(0, 60)) outline(g, p, theme.accent, 1.5), arrow(g, p, view.selected, theme.accent);
      for (const s of behind()(view.selected).slice(0, 60)) outline(g, s, theme.soft, 1.5), arrow(g, view.selected, s, theme.soft);
    }
    outline(g, view.selected, theme.ink, 2.5);
  }
  g.restore();
  g.textAlign = 'right'; 
  let lastText = -99;
  for (const lane of lanes) {
    if (lane.y + lane.h / 2 - lastText < 11) continue;
    lastText = lane.y + lane.h / 2;
    g.fillStyle = lane.kind === 'worker' ? theme.ink : theme.soft;
    g.fillText(fit(g, lane.name, size.left - 12), size.left - 8, lane.kind === 'curve' ? lane.y + 8 : lane.y + (lane.kind === 'worker' && lane.h > 12 ? lane.h - 5 : lane.h) / 2);
  }
  element('window').textContent = momentWords(Math.max(0, view.from)) + ' – ' + momentWords(Math.min(span, view.to));
}
// How busy the workers were over the whole run, and the part that is shown.
const busyCurve = later(() => {
  const n = 1000, sum = new Float64Array(n), each = span / n;
  for (let i = 0; i < runs.t0.length; ++i) {
    const t0 = runs.t0[i], t1 = t0 + runs.took[i];
    for (let p = Math.floor(t0 / each); p < n && p * each < t1; ++p) sum[p] += Math.min(t1, (p + 1) * each) - Math.max(t0, p * each);
  }
  return sum.map(s => Math.min(1, s / each / run.workers.length));
});
function drawOverview() {
  const g = context(overview), w = size.width, curve = busyCurve(), x = t => t / span * w;
  g.clearRect(0, 0, w, 34);
  g.fillStyle = theme.accent; g.globalAlpha = 0.55;
  for (let p = 0; p < curve.length; ++p) g.fillRect(p / curve.length * w, 34 - 30 * curve[p], w / curve.length + 0.5, 30 * curve[p]);
  g.globalAlpha = 1;
  g.fillStyle = theme.paper; g.globalAlpha = 0.72;
  g.fillRect(0, 0, Math.max(0, x(view.from)), 34); g.fillRect(x(view.to), 0, w, 34);
  g.globalAlpha = 1; g.strokeStyle = theme.ink; g.lineWidth = 1.5;
  g.strokeRect(Math.max(1, x(view.from)), 1, Math.min(w - 1, x(view.to)) - Math.max(1, x(view.from)), 32);
}
listeners.push(drawGantt, drawOverview);
