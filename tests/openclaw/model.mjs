// SPDX-License-Identifier: MIT
// A model provider of the OpenAI kind on this machine: asked for the first time it
// calls the tools it was told to, one a request, each made of what the ones before
// said; then it answers with what the last one said.
import {once} from 'node:events';
import http from 'node:http';

const textOf = content => typeof content === 'string' ? content
  : (content ?? []).map(part => part.text ?? '').join('');

// calls: [tool, args | results => args], the results as texts. Gives {provider:
// for OpenClaw's configuration, asked: the tools' names of each request, results,
// close}.
export async function startModel(calls) {
  const asked = [];
  let results = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const {messages, tools = [], model} = JSON.parse(body);
    asked.push(tools.map(tool => tool.function.name));
    results = messages.filter(({role}) => role === 'tool')
        .map(({content}) => textOf(content));
    const call = calls[results.length];
    const [tool, args] = call ?? [];
    const delta = call ? {content: null, tool_calls: [{index: 0,
      id: `call_${results.length}`, type: 'function', function: {name: tool,
        arguments: JSON.stringify(
            typeof args === 'function' ? args(results) : args)}}]}
      : {content: `It said: ${results.at(-1)}`};
    const say = choices => response.write(`data: ${JSON.stringify({id: 'x',
      object: 'chat.completion.chunk', created: 1, model, choices,
      usage: {prompt_tokens: 1, completion_tokens: 1, total_tokens: 2}})}\n\n`);
    response.writeHead(200, {'content-type': 'text/event-stream'});
    say([{index: 0, delta: {role: 'assistant', ...delta}, finish_reason: null}]);
    say([{index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop'}]);
    response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const free = {input: 0, output: 0, cacheRead: 0, cacheWrite: 0};
  return {
    asked,
    results: () => results,
    provider: {baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
      apiKey: 'none', api: 'openai-completions', models: [{id: 'model',
        name: 'model', reasoning: false, input: ['text'], cost: free,
        contextWindow: 120000, maxTokens: 8192}]},
    close: () => server.close(),
  };
}
