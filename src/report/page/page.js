"use strict";
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const part = (name) => document.getElementById("panel-" + name);
  const panel = document.getElementById("panel");
  const home = new Map();
  facts.families.forEach((family, index) => family.members.forEach((member) => home.set(member, index)));
  let shown = null;
  let chosen = null;

  // Everything becomes text here, never markup.
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  const remember = (address) => {
    try {
      history.replaceState(null, "", address || location.pathname + location.search);
    } catch {
      // A browser that refuses merely forgets what was open.
    }
  };

  const listMembers = () => {
    const wanted = part("filter").value.trim().toLowerCase();
    const items = facts.families[shown].members
      .filter((member) => facts.stages[member].name.toLowerCase().includes(wanted))
      .map((member) => {
        const stage = facts.stages[member];
        const button = element("button");
        button.type = "button";
        button.dataset.member = member;
        const dot = element("i", undefined, "dot " + stage.status);
        button.append(dot, element("span", stage.name), element("small", stage.time || stage.status));
        button.title = stage.status;
        button.setAttribute("aria-current", String(member === chosen));
        button.addEventListener("click", () => choose(member));
        const item = element("li");
        item.append(button);
        return item;
      });
    part("members").replaceChildren(...items);
  };

  const inputLinks = (stage) => {
    const row = element("dd", undefined, "inputs");
    const most = 12;
    stage.inputs.slice(0, most).forEach((input, index) => {
      const button = element("button", facts.stages[input].name);
      button.type = "button";
      button.addEventListener("click", () => {
        open(home.get(input));
        choose(input);
      });
      row.append(index ? ", " : "", button);
    });
    if (stage.inputs.length > most) row.append(` and ${stage.inputs.length - most} more`);
    return row;
  };

  const choose = (member) => {
    chosen = member;
    const stage = facts.stages[member];
    const list = element("dl");
    const add = (title, value, name) => {
      if (value) list.append(element("dt", title), element("dd", value, name));
    };
    add("Status", stage.status, stage.status);
    add("Why", stage.why);
    add("Time", stage.time);
    add("Finished", stage.finished);
    add("Made with", stage.machine);
    add("Key", stage.key, "digest");
    add("Result", stage.digest, "digest");
    if (stage.inputs.length) list.append(element("dt", "Reads"), inputLinks(stage));
    const parts = [element("h3", stage.name), list, element("h4", "Settings"), element("pre", stage.settings)];
    if (stage.log.length) parts.push(element("h4", "End of the log"), element("pre", stage.log.join("\n")));
    part("facts").replaceChildren(...parts);
    part("facts").scrollTop = 0;
    part("members").querySelectorAll("button").forEach((button) => {
      button.setAttribute("aria-current", String(Number(button.dataset.member) === member));
    });
    remember("#stage=" + encodeURIComponent(stage.name));
  };

  const open = (family) => {
    shown = family;
    const { name, kind, members } = facts.families[family];
    part("title").textContent = name;
    part("kind").textContent = members.length === 1 ? kind : `${kind}, ${members.length} stages`;
    part("filter").value = "";
    part("choice").hidden = members.length === 1;
    listMembers();
    const order = ["failed", "running"];
    const urgent = members.find((member) => order.includes(facts.stages[member].status));
    choose(urgent === undefined ? members[0] : urgent);
    if (!panel.open) panel.showModal();
  };

  const nodes = document.querySelectorAll(".node");
  nodes.forEach((node) => {
    node.addEventListener("click", () => open(Number(node.dataset.family)));
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        open(Number(node.dataset.family));
      }
    });
  });
  part("filter").addEventListener("input", listMembers);
  part("close").addEventListener("click", () => panel.close());
  panel.addEventListener("click", (event) => {
    if (event.target === panel) panel.close();
  });
  panel.addEventListener("close", () => {
    nodes[shown]?.focus();
    remember("");
  });

  // A page that reloads itself opens what was open.
  if (location.hash.startsWith("#stage=")) {
    const name = decodeURIComponent(location.hash.slice("#stage=".length));
    const member = facts.stages.findIndex((stage) => stage.name === name);
    if (member >= 0) {
      open(home.get(member));
      choose(member);
    }
  }
})();
