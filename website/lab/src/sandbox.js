// In the frame that is the sandbox: begins the worker of the page, and hands it the module and its port. The frame has an
// origin of its own, and its policy allows no connection; the worker inherits both.
addEventListener(
  "message",
  ({ data: { source, module }, ports }) => {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    new Worker(url).postMessage(module, [ports[0], module]);
  },
  { once: true },
);
