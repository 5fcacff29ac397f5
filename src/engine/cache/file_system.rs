//! What kind of file system a folder is on.

use std::path::Path;

/// Returns whether a folder lies on a network file system that is known by its magic number.
pub fn is_network(folder: &Path) -> bool {
    const NFS: u64 = 0x6969;
    const LUSTRE: u64 = 0x0BD0_0BD0;
    const GPFS: u64 = 0x4750_4653;
    const SMB2: u64 = 0xFE53_4D42;
    const CIFS: u64 = 0xFF53_4D42;
    const BEEGFS: u64 = 0x1983_0326;
    const CEPH: u64 = 0x00C3_6400;
    const FUSE: u64 = 0x6573_5546;
    let kinds = [NFS, LUSTRE, GPFS, SMB2, CIFS, BEEGFS, CEPH, FUSE];
    // Magic numbers are 32 bits wide; some systems sign-extend them.
    rustix::fs::statfs(folder)
        .is_ok_and(|found| kinds.contains(&(found.f_type as u64 & 0xFFFF_FFFF)))
}
