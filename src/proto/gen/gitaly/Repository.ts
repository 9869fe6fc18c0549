// Original file: proto/shared.proto


export interface Repository {
  'storageName'?: (string);
  'relativePath'?: (string);
  'gitObjectDirectory'?: (string);
  'gitAlternateObjectDirectories'?: (string)[];
  'glRepository'?: (string);
  'glProjectPath'?: (string);
}

export interface Repository__Output {
  'storageName': (string);
  'relativePath': (string);
  'gitObjectDirectory': (string);
  'gitAlternateObjectDirectories': (string)[];
  'glRepository': (string);
  'glProjectPath': (string);
}
