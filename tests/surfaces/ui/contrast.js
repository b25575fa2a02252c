// Every text that can be seen and has a contrast of less than 4.5 to 1 against what is behind it.
() => {
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return text.startsWith('color(') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a]; };
  const over = (top, under) => top.slice(0, 3).map((value, at) => value * top[3] + under[at] * (1 - top[3]));
  const light = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = element => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) layers.unshift(parse(getComputedStyle(each).backgroundColor));
    return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ opacityProperty: false }) || element.closest('svg, noscript, .hidden-text, .skip, [disabled]')) continue;
    const under = ground(element);
    const [a, b] = [light(over(parse(getComputedStyle(element).color), under)), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${node.data.trim().slice(0, 40)}: ${ratio.toFixed(2)} in ${element.className}`);
  }
  return found;
}
