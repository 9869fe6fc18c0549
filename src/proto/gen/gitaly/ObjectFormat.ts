// Original file: proto/shared.proto

export const ObjectFormat = {
  OBJECT_FORMAT_UNSPECIFIED: 'OBJECT_FORMAT_UNSPECIFIED',
  OBJECT_FORMAT_SHA1: 'OBJECT_FORMAT_SHA1',
  OBJECT_FORMAT_SHA256: 'OBJECT_FORMAT_SHA256',
} as const;

export type ObjectFormat =
  | 'OBJECT_FORMAT_UNSPECIFIED'
  | 0
  | 'OBJECT_FORMAT_SHA1'
  | 1
  | 'OBJECT_FORMAT_SHA256'
  | 2

export type ObjectFormat__Output = typeof ObjectFormat[keyof typeof ObjectFormat]
