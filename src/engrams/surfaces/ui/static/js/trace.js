// How the last question of this window was answered.

let held = null;

export const last = () => held;

export function traced(explained) {
  held = explained;
}
