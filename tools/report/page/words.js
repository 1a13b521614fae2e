// words.js — numbers as words, colours, small pieces of the page.
const span = Math.max(1, run.span_ns);
const digits = (x, n = 3) => +x.toPrecision(n) + '';
const timeWords = ns => { const a = Math.abs(ns); return a < 1e3 ? digits(ns) + ' ns' : a < 1e6 ? digits(ns / 1e3) + ' µs' : a < 1e9 ? digits(ns / 1e6) + ' ms' : digits(ns / 1e9) + ' s'; };
const momentWords = ns => span < 1e6 ? (ns / 1e3).toFixed(2) + ' µs' : span < 1e9 ? (ns / 1e6).toFixed(3) + ' ms' : (ns / 1e9).toFixed(6) + ' s';
const byteWords = n => { let u = 0; while (n >= 1024 && u < 5) n /= 1024, ++u; return digits(n) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][u]; };
const shareWords = x => (x * 100).toFixed(x < 0.0995 ? 1 : 0) + ' %';
const countWords = (n, one, many) => n.toLocaleString('en') + ' ' + (n === 1 ? one : many);

const kColours = ['#4c8fd6', '#e58a2b', '#4aa66a', '#c65b8e', '#8a7be0', '#2fa8a8', '#b98b3e', '#d4605a', '#6c9e2f', '#9a6cb5', '#5f7fa8', '#a3a83a'];
const codeletOrder = new Map();                    // by share of the time, so that the largest have the clearest colours
for (const c of run.codelets) if (!codeletOrder.has(c.codelet)) codeletOrder.set(c.codelet, codeletOrder.size);
const colourOf = run.codelet_names.map(name => kColours[(codeletOrder.get(name) ?? 0) % kColours.length]);
const kReasons = [['data', 'waiting for data', '#d55e00'], ['scheduling', 'ready tasks, none given', '#a04bc4'], ['order', 'waiting for other tasks', '#c79a00'],
  ['submission', 'nothing submitted', '#2f8fc4'], ['end', 'no task left', '#8b93a1'], ['unknown', 'idle', '#8b93a1']];
const kWhys = [['demand', '#d55e00'], ['prefetch', '#4aa66a'], ['write-back', '#8a7be0'], ['copy', '#7f8794']];

// A new element: attributes by name, children as texts or elements. Texts are never parsed.
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? '' : value);
  for (const child of children.flat(Infinity)) if (child !== undefined && child !== null) e.append(child);
  return e;
}
const styled = (tag, style, ...children) => { const e = make(tag, {}, ...children); Object.assign(e.style, style); return e; };
const swatch = colour => { const s = styled('span', { background: colour }); s.className = 'swatch'; return s; };
