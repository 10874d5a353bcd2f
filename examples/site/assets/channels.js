"use strict";
const at = (id) => document.getElementById(id);
const LINES_SHOWN = 50;
const states = { connecting: "Connecting.", open: "Connected.", waiting: "Not connected; trying again." };
const channels = new Velodrome("/channels", { onstate: (state) => { at("state").textContent = states[state]; } });

function show(text) {
  const line = document.createElement("li");
  line.textContent = typeof text === "string" ? text : JSON.stringify(text);
  at("lines").append(line);
  while (at("lines").children.length > LINES_SHOWN) at("lines").firstChild.remove();
  line.scrollIntoView({ block: "nearest" });
}

// From the beginning of the history: position 0 of any epoch is told as lost where the epoch is another.
fetch("/channels/demo.chat?wait=0")
  .then((answer) => answer.json())
  .then(({ since, messages }) => {
    for (const { data } of messages) show(data);
    channels.subscribe("demo.chat", show, { since, lost: () => show("(some lines are missing here)") });
  });
fetch("/channels/demo.clicks?wait=0")
  .then((answer) => answer.json())
  .then(({ since }) => {
    at("count").textContent = since.split("-")[1];
    channels.subscribe("demo.clicks", (_, { offset }) => { at("count").textContent = offset; }, { since });
  });

at("say").addEventListener("submit", (event) => {
  event.preventDefault();
  channels.publish("demo.chat", at("line").value).catch((error) => show(`(not said: ${error.message})`));
  at("line").value = "";
});
at("click").addEventListener("click", () => channels.publish("demo.clicks", 1).catch(() => {}));
for (const origin of document.getElementsByClassName("origin")) origin.textContent = location.origin;
