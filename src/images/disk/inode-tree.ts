// What a root file system holds, apart from content: names, owners, modes, times and capabilities.

/** What no name in an image may have: the script of its inodes is read line by line. */
export const UNSAYABLE = /[\r\n\0]/;

export interface Inode {
  mode: number;
  uid: number;
  gid: number;
  /** Seconds since 1970. */
  mtime: number;
  capability?: Buffer | undefined;
}
export type Folder = Inode & { type: 'folder'; children: Map<string, TreeNode> };
/** A file with several names is one node that has several parents. */
export type TreeNode = Folder | (Inode & { type: 'file' }) | (Inode & { type: 'link'; target: string });
