import type { SmartHttp, SmartHttpRequest } from "../../src/services/index.ts";

/** What a service was asked. */
export type SmartHttpCall = { readonly service: string; readonly request: SmartHttpRequest };

/** Answers with what the test says, by default with the body it was sent. */
export class EchoSmartHttp implements SmartHttp {
  readonly calls: SmartHttpCall[] = [];
  answer: (call: SmartHttpCall, body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> = (_call, body) => body;
  refuse: unknown;

  infoRefs(service: string, request: SmartHttpRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#take({ service: `info/refs ${service}`, request }, bytes("refs"));
  }
  uploadPack(request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    return this.#take({ service: "upload-pack", request }, body);
  }
  receivePack(request: SmartHttpRequest, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    return this.#take({ service: "receive-pack", request }, body);
  }
  async noted(): Promise<void> {}
  async #take(call: SmartHttpCall, body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    this.calls.push(call);
    if (this.refuse !== undefined) throw this.refuse;
    return this.answer(call, body);
  }
}

async function* bytes(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
