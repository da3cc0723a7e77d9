// Light, dark, or as the system has it. Loaded before anything is painted, so nothing flashes.
{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const choices = ["auto", "light", "dark"];
  let chosen = "auto";
  try {
    const kept = localStorage.getItem("theme");
    if (choices.includes(kept)) chosen = kept;
  } catch {
    // No storage, as in a file opened from disk: the choice lasts as long as the page.
  }

  const apply = () => {
    const system = dark.matches ? "dark" : "light";
    document.documentElement.dataset.theme = chosen === "auto" ? system : chosen;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${chosen}`;
    document.dispatchEvent(new Event("themechange"));
  };

  const turn = () => {
    chosen = choices[(choices.indexOf(chosen) + 1) % choices.length];
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // As above.
    }
    apply();
  };

  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", turn);
    apply();
  });
  apply();
}
