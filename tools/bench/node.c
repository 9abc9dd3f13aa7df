/* SPDX-License-Identifier: MIT */
/* Node's child_process in the same closed loop: spawn with three pipes, data
 * handlers, until `close`. Runs a short script with node, if there is one. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char script[] =
    "const {spawn}=require('child_process');"
    "const n=+process.argv[1],sec=+process.argv[2];"
    "const lat=[],t0=process.hrtime.bigint();let alive=n;"
    "const now=()=>Number(process.hrtime.bigint()-t0)/1e3;"
    "function one(){const s=now(),c=spawn('sh',['-c','true']);"
    "c.stdout.on('data',()=>{});c.stderr.on('data',()=>{});"
    "c.on('close',()=>{lat.push(now()-s);"
    "if(now()<sec*1e6)one();else if(--alive===0)end();});}"
    "function end(){const t=now()/1e6;lat.sort((a,b)=>a-b);"
    "const at=q=>lat[Math.floor((lat.length-1)*q)];"
    "console.log(lat.length/t,at(0.5),at(0.99));}"
    "for(let i=0;i<n;i++)one();";

struct measure
node_starts(int at_once, double sec)
{
	struct measure m = {.rate = -1}, got;
	char n[16], s[32], text[128] = "";
	const char *argv[] = {"node", "-e", script, n, s, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	ssize_t len;
	pid_t pid;

	snprintf(n, sizeof(n), "%d", at_once);
	snprintf(s, sizeof(s), "%.2f", sec);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return m;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	status = posix_spawnp(&pid, "node", &actions, NULL,
	    (char **)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (status != 0) {
		close(ends[0]);
		return m;
	}
	waitpid(pid, &status, 0);
	len = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	if (status == 0 && len > 0 &&
	    sscanf(text, "%lf %lf %lf", &got.rate, &got.p50_us,
	        &got.p99_us) == 3)
		return got;
	return m;
}
