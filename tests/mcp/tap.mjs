// SPDX-License-Identifier: MIT
// tap.mjs LOG PROGRAM [ARG...]: runs it, and writes every line in (>) and out
// (<) into LOG. What it is killed with, the program is killed with.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [log, program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });

function lines(stream, mark, to) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (data) => {
    const all = (rest + data).split("\n");
    rest = all.pop();
    for (const line of all) {
      appendFileSync(log, `${mark}${line}\n`);
      to.write(line + "\n");
    }
  });
  stream.on("end", () => to.end());
}
lines(process.stdin, ">", child.stdin);
lines(child.stdout, "<", process.stdout);
process.stdout.on("error", () => child.stdin.end());
child.stdin.on("error", () => {});
child.on("exit", (code) => process.exit(code ?? 1));
for (const s of ["SIGTERM", "SIGINT"]) process.on(s, () => child.kill(s));
