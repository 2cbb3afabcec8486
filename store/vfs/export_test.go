package vfs

// WriteZerosForTest is Preallocate where the system has no fallocate.
func WriteZerosForTest(f File, size int64) error { return f.(*osFile).writeZeros(size) }

// LendForTest makes a call as SyncDir and its like do.
func LendForTest(f FS, call func() error) error {
	o := f.(*osFS)
	return o.spare.lend(o.root, call)
}

// SparesForTest is how many descriptors are held back.
func SparesForTest(f FS) int { return len(f.(*osFS).spare.held) }
