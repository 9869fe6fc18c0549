import fc from "fast-check";
import { expect, test } from "vitest";
import { CodedError } from "../../../src/base/index.ts";
import { parseAddress } from "../../../src/client/address.ts";

test.each([
  ["127.0.0.1:9000", "grpc://127.0.0.1:9000"],
  ["Node-1.example", "grpc://node-1.example:8075"],
  ["http://a:1", "grpc://a:1"],
  ["https://a:1/", "grpcs://a:1"],
  ["grpc://a", "grpc://a:8075"],
  ["grpcs://[::1]:2", "grpcs://[::1]:2"],
])("%s means %s", (text, url) => {
  expect(parseAddress(text).url).toBe(url);
});

test.each(["", "a:0", "a:65536", "a:b", "unix:/run/socket", "ftp://a", "grpc://a:1/path", "grpc://user@a:1", "a b", "::1:80", "xds:///a"])(
  "%j is refused",
  (text) => {
    expect(() => parseAddress(text)).toThrow(CodedError);
  },
);

test("any text is an address or a CodedError, and an address reads back as itself", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        const address = parseAddress(text);
        expect(parseAddress(address.url)).toEqual(address);
      } catch (error) {
        expect(CodedError.is(error, "invalid_argument")).toBe(true);
      }
    }),
  );
});
