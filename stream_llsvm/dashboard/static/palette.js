// Colours: those of the style sheet, and one for each class that people tell apart, with shapes.

// Okabe and Ito's set, which people with any colour vision can tell apart, a little calmer.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8639a", "#c98a00", "#3a9bd9", "#7a5bb0", "#6b6f76"];
const DARK = ["#4aa8e0", "#f2884a", "#3cc79d", "#e094c3", "#e8b13c", "#8ccdf5", "#ac92de", "#a3a9b2"];
const SHAPES = ["circle", "square", "triangle", "diamond", "down", "plus"];

let kept = new Map();
document.addEventListener("themechange", () => {
  kept = new Map();
});

const isDark = () => document.documentElement.dataset.theme === "dark";

/** A colour of the style sheet, by its name there. */
export function colour(name) {
  if (!kept.has(name)) {
    kept.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return kept.get(name);
}

/** The colour of class number i, whatever number that is. */
export function classColour(i) {
  const set = isDark() ? DARK : LIGHT;
  if (!(i >= 0)) return colour("--faint");
  if (i < set.length) return set[i];
  // Golden angles: neighbours differ, and there are as many as anyone needs.
  return `hsl(${Math.round((i * 137.508) % 360)} 45% ${isDark() ? 65 : 42}%)`;
}

/** The shape of class number i. */
export const classShape = (i) => (i >= 0 && i < SHAPES.length ? SHAPES[i] : "circle");

/** The parts of a colour, for pixels. */
export function rgb(text) {
  if (!kept.has(`rgb ${text}`)) {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    kept.set(`rgb ${text}`, [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)]);
  }
  return kept.get(`rgb ${text}`);
}

/** Add a shape of this radius to the path. */
export function shape(pen, name, x, y, r) {
  pen.beginPath();
  if (name === "square") pen.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76);
  else if (name === "triangle") polygon(pen, x, y, r * 1.2, 3, -Math.PI / 2);
  else if (name === "down") polygon(pen, x, y, r * 1.2, 3, Math.PI / 2);
  else if (name === "diamond") polygon(pen, x, y, r * 1.2, 4, 0);
  else if (name === "plus") {
    const t = r * 0.4;
    const corners = [
      [-t, -r], [t, -r], [t, -t], [r, -t], [r, t], [t, t],
      [t, r], [-t, r], [-t, t], [-r, t], [-r, -t], [-t, -t],
    ];
    corners.forEach(([dx, dy], i) => (i ? pen.lineTo(x + dx, y + dy) : pen.moveTo(x + dx, y + dy)));
    pen.closePath();
  } else pen.arc(x, y, r, 0, 2 * Math.PI);
}

function polygon(pen, x, y, r, corners, turn) {
  for (let i = 0; i < corners; i++) {
    const angle = turn + (2 * Math.PI * i) / corners;
    pen.lineTo(x + r * Math.cos(angle), y + r * Math.sin(angle));
  }
  pen.closePath();
}
