// Going through steps: previous, next, play, and a position that may be chosen.

export class Player {
  // `shown(index)` draws a step; `buttons` are {previous, next, play, range?}.
  constructor(buttons, shown, seconds = 1.1) {
    this.buttons = buttons;
    this.shown = shown;
    this.seconds = seconds;
    this.count = 0;
    this.index = 0;
    this.timer = null;
    buttons.previous.addEventListener("click", () => this.chosen(this.index - 1));
    buttons.next.addEventListener("click", () => this.chosen(this.index + 1));
    buttons.play.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    buttons.range?.addEventListener("input", () => this.chosen(Number(buttons.range.value)));
  }

  load(count, index = 0) {
    this.stop();
    this.count = count;
    this.go(index);
  }

  chosen(index) {
    this.stop();
    this.go(index);
  }

  go(index) {
    this.index = Math.max(0, Math.min(this.count - 1, index));
    const { previous, next, play, range } = this.buttons;
    previous.disabled = this.index <= 0;
    next.disabled = this.index >= this.count - 1;
    play.disabled = this.count < 2;
    if (range) {
      range.max = String(Math.max(0, this.count - 1));
      range.value = String(this.index);
    }
    if (this.count > 0) this.shown(this.index);
  }

  play() {
    if (this.index >= this.count - 1) this.go(0);
    this.buttons.play.textContent = "Pause";
    this.timer = setInterval(() => {
      this.go(this.index + 1);
      if (this.index >= this.count - 1) this.stop();
    }, 1000 * this.seconds);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.buttons.play.textContent = "Play";
  }
}
