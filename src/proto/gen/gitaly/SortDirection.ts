// Original file: proto/shared.proto

export const SortDirection = {
  ASCENDING: 'ASCENDING',
  DESCENDING: 'DESCENDING',
} as const;

export type SortDirection =
  | 'ASCENDING'
  | 0
  | 'DESCENDING'
  | 1

export type SortDirection__Output = typeof SortDirection[keyof typeof SortDirection]
