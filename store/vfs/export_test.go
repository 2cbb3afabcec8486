package vfs

// WriteZerosForTest is Preallocate where the system has no fallocate.
func WriteZerosForTest(f File, size int64) error { return f.(*osFile).writeZeros(size) }
