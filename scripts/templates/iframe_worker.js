// A page that is opened as a file may start no worker. This stand-in runs a worker's script in a hidden
// frame instead, so that the search of the site works from a folder.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.frame.contentDocument.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = () => {
        this.loaded = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      this.frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (!this.loaded) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
