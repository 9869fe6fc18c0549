import type { DescriptorProto__Output } from "../../proto/gen/google/protobuf/DescriptorProto.ts";
import type { EnumDescriptorProto__Output } from "../../proto/gen/google/protobuf/EnumDescriptorProto.ts";
import type { FieldDescriptorProto__Output } from "../../proto/gen/google/protobuf/FieldDescriptorProto.ts";
import type { FileDescriptorProto__Output } from "../../proto/gen/google/protobuf/FileDescriptorProto.ts";
import { messageCodec } from "../../proto/index.ts";

/** One .proto file as it goes to clients. */
export interface DescriptorFile {
  readonly name: string;
  readonly imports: readonly string[];
  readonly bytes: Uint8Array;
}

const fileCodec = messageCodec<object, FileDescriptorProto__Output>("google.protobuf.FileDescriptorProto");

/** What a serialized FileDescriptorSet declares, by file name, full symbol name, and extension. Files keep their bytes. */
export class DescriptorIndex {
  readonly #files = new Map<string, DescriptorFile>();
  readonly #symbols = new Map<string, DescriptorFile>();
  /** Extended message -> field number -> file. */
  readonly #extensions = new Map<string, Map<number, DescriptorFile>>();

  constructor(descriptorSet: Uint8Array) {
    for (const bytes of filesOf(descriptorSet)) {
      const decoded = fileCodec.decode(bytes);
      const file = { name: decoded.name, imports: decoded.dependency, bytes };
      this.#files.set(file.name, file);
      this.#addFile(decoded, file);
    }
  }

  file(name: string): DescriptorFile | undefined {
    return this.#files.get(name);
  }

  fileOfSymbol(name: string): DescriptorFile | undefined {
    return this.#symbols.get(name);
  }

  fileOfExtension(type: string, number: number): DescriptorFile | undefined {
    return this.#extensions.get(type)?.get(number);
  }

  /** Field numbers in order; undefined for a message that is not known. */
  extensionNumbers(type: string): number[] | undefined {
    const numbers = this.#extensions.get(type);
    if (!numbers && !this.#symbols.has(type)) return undefined;
    return [...(numbers?.keys() ?? [])].sort((a, b) => a - b);
  }

  /** `file` and everything it imports, itself first. */
  withImports(file: DescriptorFile): DescriptorFile[] {
    const found = new Set<DescriptorFile>([file]);
    for (const { imports } of found) {
      for (const name of imports) {
        const imported = this.#files.get(name);
        if (imported) found.add(imported);
      }
    }
    return [...found];
  }

  #addFile(decoded: FileDescriptorProto__Output, file: DescriptorFile): void {
    const scope = decoded.package;
    for (const message of decoded.messageType) this.#addMessage(scope, message, file);
    for (const enumType of decoded.enumType) this.#addEnum(scope, enumType, file);
    for (const extension of decoded.extension) this.#addExtension(scope, extension, file);
    for (const service of decoded.service) {
      const name = this.#add(scope, service.name, file);
      for (const method of service.method) this.#add(name, method.name, file);
    }
  }

  #add(scope: string, name: string, file: DescriptorFile): string {
    const full = scope === "" ? name : `${scope}.${name}`;
    this.#symbols.set(full, file);
    return full;
  }

  #addMessage(scope: string, message: DescriptorProto__Output, file: DescriptorFile): void {
    const name = this.#add(scope, message.name, file);
    for (const field of message.field) this.#add(name, field.name, file);
    for (const oneof of message.oneofDecl) this.#add(name, oneof.name, file);
    for (const nested of message.nestedType) this.#addMessage(name, nested, file);
    for (const enumType of message.enumType) this.#addEnum(name, enumType, file);
    for (const extension of message.extension) this.#addExtension(name, extension, file);
  }

  #addEnum(scope: string, enumType: EnumDescriptorProto__Output, file: DescriptorFile): void {
    this.#add(scope, enumType.name, file);
    // Values are siblings of their enum, as in C++.
    for (const value of enumType.value) this.#add(scope, value.name, file);
  }

  #addExtension(scope: string, field: FieldDescriptorProto__Output, file: DescriptorFile): void {
    this.#add(scope, field.name, file);
    const type = field.extendee.replace(/^\./, "");
    const numbers = this.#extensions.get(type) ?? new Map<number, DescriptorFile>();
    this.#extensions.set(type, numbers.set(field.number, file));
  }
}

/** Cuts a FileDescriptorSet into its files without decoding them, so that options unknown to the decoder survive. */
function* filesOf(descriptorSet: Uint8Array): Generator<Uint8Array> {
  const fileField = 0x0a;
  for (let at = 0; at < descriptorSet.length; ) {
    if (descriptorSet[at] !== fileField) throw new TypeError("not a FileDescriptorSet");
    at++;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = descriptorSet[at++] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    yield descriptorSet.subarray(at, at + length);
    at += length;
  }
}
