import { rendezvousWasm } from "./rendezvous-wasm.ts";

// @types/node 20 does not declare WebAssembly, and the DOM's declarations would bring the DOM along.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: unknown };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  hash(pointer: number, length: number, seed: bigint): bigint;
  ln(x: number): number;
  pair(repository: bigint, site: bigint, seed: bigint): bigint;
  cost(repository: bigint, site: bigint, seed: bigint, weight: number): number;
  owners(key: number, length: number, seed: bigint, sites: number, count: number, top: number, costs: number, k: number): void;
}

/** The assembled functions of rendezvous.wat, with one memory for the whole process: calls are synchronous, so they cannot meet. */
export const wasm: Exports = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(rendezvousWasm, "base64"))).exports as Exports;

/** Where short inputs are written; below it the memory is the module's own. */
export const inputAddress = 1024;
const inputSizeBytes = 8192;
/** Above the input: tables, and inputs too long for their place. */
export const tableAddress: number = inputAddress + inputSizeBytes;

const pageBytes = 65536;
const encoder = new TextEncoder();
let memory = new Uint8Array(wasm.memory.buffer);
// Views are kept: making one costs as much as hashing a short key.
let input = memory.subarray(inputAddress, tableAddress);
let tableHolder: object | undefined;

/** The memory as bytes, at least `sizeBytes` of them. Valid until the next call. */
export function memoryBytes(sizeBytes: number): Uint8Array {
  if (memory.length < sizeBytes) {
    wasm.memory.grow(Math.ceil((sizeBytes - memory.length) / pageBytes));
    memory = new Uint8Array(wasm.memory.buffer);
    input = memory.subarray(inputAddress, tableAddress);
  }
  return memory;
}

/** Says whose table is in the memory from now on. True where it was theirs before. */
export function claimTable(holder: object): boolean {
  const had = tableHolder === holder;
  tableHolder = holder;
  return had;
}

/** Whether `text` or bytes of this length fit the short input's place. */
export function isShort(value: Uint8Array | string): boolean {
  return typeof value === "string" ? value.length * 3 <= inputSizeBytes : value.length <= inputSizeBytes;
}

/** Writes a short input (a string as UTF-8) to its place and returns its length in bytes. */
export function writeShort(value: Uint8Array | string): number {
  if (typeof value === "string") return encoder.encodeInto(value, input).written;
  input.set(value);
  return value.length;
}

/** Writes an input of any length over the table and returns its length in bytes. */
export function writeLong(value: Uint8Array): number {
  tableHolder = undefined;
  memoryBytes(tableAddress + value.length).set(value, tableAddress);
  return value.length;
}
