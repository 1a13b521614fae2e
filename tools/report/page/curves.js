// curves.js — the number of ready tasks, of tasks that wait for others, and the memory in use over time, as lanes.
function addCurve(name, id, colour, words, limit) {
  const t = column(id + 't', 'after'), v = column(id + 'v', 'near');
  if (!t.length) return;
  let most = limit || 0;
  for (const one of v) most = Math.max(most, one);
  if (!most) return;
  lanes.push({ name, kind: 'curve', t, v, most, colour, words, limit });
}
const whole = n => Math.round(n).toLocaleString('en');
addCurve('ready tasks', 'ready', '#2f9e6e', whole);
addCurve('waiting tasks', 'pending', '#c79a00', whole);
run.memories.forEach((m, i) => addCurve(m.memory, 'memory' + i, '#8a7be0', byteWords, m.limit_bytes));
const evictions = later(() => ({ t: column('evictt', 'after'), space: column('evictspace') }));

function valueAt(lane, time) {
  let a = 0, b = lane.t.length;
  while (a < b) { const m = (a + b) >> 1; if (lane.t[m] <= time) a = m + 1; else b = m; }
  return a ? lane.v[a - 1] : 0;
}
function drawCurve(g, lane) {
  const y = v => lane.y + lane.h - v / lane.most * (lane.h - 2), bottom = lane.y + lane.h;
  g.fillStyle = theme.lane;
  g.fillRect(size.left, lane.y, size.width - size.left, lane.h);
  g.save(); g.beginPath(); g.rect(size.left, lane.y - 1, size.width - size.left, lane.h + 2); g.clip();
  g.beginPath();
  g.moveTo(size.left, bottom);
  g.lineTo(size.left, y(valueAt(lane, view.from)));
  let at = valueAt(lane, view.from), most = at, x = size.left;
  for (let k = 0; k < lane.t.length && lane.t[k] <= view.to; ++k) {
    if (lane.t[k] < view.from) continue;
    const next = xOf(lane.t[k]);
    if (next - x >= 0.5) { g.lineTo(next, y(most)); x = next; most = 0; }
    at = lane.v[k]; most = Math.max(most, at);
    g.lineTo(x, y(most));
  }
  g.lineTo(Math.min(size.width, xOf(span)), y(at));
  g.lineTo(Math.min(size.width, xOf(span)), bottom);
  g.closePath();
  g.globalAlpha = 0.35; g.fillStyle = lane.colour; g.fill();
  g.globalAlpha = 1; g.strokeStyle = lane.colour; g.lineWidth = 1.3; g.stroke();
  if (lane.limit) {
    g.strokeStyle = theme.mark; g.setLineDash([5, 4]); g.beginPath(); g.moveTo(size.left, y(lane.limit)); g.lineTo(size.width, y(lane.limit)); g.stroke(); g.setLineDash([]);
    const space = run.space_names.indexOf(lane.name), e = evictions();
    g.fillStyle = theme.mark;
    for (let k = 0, drawn = -9; k < e.t.length && e.t[k] <= view.to; ++k) {
      if (e.space[k] !== space || e.t[k] < view.from) continue;
      const at = xOf(e.t[k]);
      if (at - drawn >= 1) g.fillRect(drawn = at, bottom - 4, 1, 4);
    }
  }
  g.restore();
  g.fillStyle = theme.soft; g.textAlign = 'right';
  g.fillText(fit(g, lane.words(lane.most), size.left - 12), size.left - 8, lane.y + 24);
}
