import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly trailers: IncomingMessage["trailers"];
}

/** One HTTP request to loopback on a connection of its own. */
export async function ask(
  port: number,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: Buffer | string } = {},
): Promise<Answer> {
  const { method = options.body === undefined ? "GET" : "POST", headers = {}, body } = options;
  const request = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, body: text, trailers: response.trailers };
}

/** Sends bytes as they are and answers all that comes back. */
export async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(text, "latin1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  await once(socket, "close");
  return answer;
}
