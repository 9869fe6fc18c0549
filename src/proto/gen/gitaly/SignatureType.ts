// Original file: proto/shared.proto

export const SignatureType = {
  NONE: 'NONE',
  PGP: 'PGP',
  X509: 'X509',
  SSH: 'SSH',
} as const;

export type SignatureType =
  | 'NONE'
  | 0
  | 'PGP'
  | 1
  | 'X509'
  | 2
  | 'SSH'
  | 3

export type SignatureType__Output = typeof SignatureType[keyof typeof SignatureType]
