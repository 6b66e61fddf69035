// A scene from above, with the objects that a step finds. The server draws it: nothing that anybody typed is in it.

export class Scene {
  constructor(place) {
    this.place = place;
    this.things = [];
  }

  show({ above }) {
    this.drawing = new DOMParser().parseFromString(above, "text/html").querySelector("svg");
    this.things = [...this.drawing.querySelectorAll("g")];
    this.place.replaceChildren(this.drawing);
  }

  // Numbers of the objects to stand out; null for all alike.
  highlight(numbers) {
    this.drawing?.classList.toggle("choosing", numbers !== null);
    this.things.forEach((thing, number) => thing.classList.toggle("chosen", numbers?.includes(number) ?? false));
  }
}
