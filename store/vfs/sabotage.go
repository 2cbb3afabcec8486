package vfs

// Sabotage names a way to break one of the promises on purpose. In a program
// that was built with the tag sabotage, the environment's SABOTAGE
// chooses one: the crash tests must find it, or they prove nothing. In every
// other program nothing of it is left, and the variable means nothing.
type Sabotage string

// The kinds. Package auth knows the last one.
const (
	SkipDirSync     Sabotage = "dirsync"        // folders are not synced
	SkipDataSync    Sabotage = "datasync"       // files are not synced
	SkipBlobSync    Sabotage = "blobsync"       // files of blobs are not synced
	SkipJournalSync Sabotage = "journalsync"    // files of the journal are not synced
	AnswerEarly     Sabotage = "early-answer"   // a change is acknowledged before its sync
	IgnoreEIO       Sabotage = "ignore-eio"     // a sync that fails with EIO counts as done
	SkipTombstone   Sabotage = "skip-tombstone" // a replay does not apply deletions
	DropTombstone   Sabotage = "drop-tombstone" // a compaction drops every deletion
	SystemNormal    Sabotage = "system-normal"  // system.db commits without a sync
)
