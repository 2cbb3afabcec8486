package main

import (
	"slices"
	"strconv"
)

// invariant is one part of the promise and the tests that hold it, each as
// package.Test.
type invariant struct {
	ID, Holds string
	Tests     []string
}

// invariants is the whole promise. A test of internal/archtest sees to it that
// every test named in the page is there.
func invariants() []invariant {
	all := append(writing(), running()...)
	slices.SortFunc(all, func(a, b invariant) int { return a.number() - b.number() })
	return all
}

func (i invariant) number() int {
	n, _ := strconv.Atoi(i.ID[1:]) // all are D and a number
	return n
}

// writing is what holds for objects.
func writing() []invariant {
	return []invariant{
		{"D1", "What was acknowledged survives kill -9 and power cuts: objects, copies, uploads, deletions, buckets, and users, keys and revocations.", []string{
			"e2e.TestKill", "e2e.TestPowerCut", "e2e.TestPowerCutOfOneDisk", "e2e.TestPowerCutForgetful", "e2e.TestSyscalls", "store.TestSim", "auth.TestWithoutClose"}},
		{"D2", "What was not acknowledged is wholly there or not at all, and can be tried again.", []string{
			"e2e.TestKill", "e2e.TestPowerCutForgetful", "store.TestSim", "store/journal.TestCrashAtEveryStep"}},
		{"D3", "No reader gets bytes that are not one whole version; damaged bytes end the answer early.", []string{
			"e2e.TestKill", "e2e.TestCorruptLive", "store.TestDamagedBytesAreNeverServedWhole"}},
		{"D4", "During an overwrite the old or the new version is readable; a crash or a failed put takes neither.", []string{
			"e2e.TestPowerCut", "store.TestReadersNeverMissAnOverwrittenObject", "store.TestRefusedPutsStoreNothing", "store.TestEveryFault"}},
		{"D5", "What was deleted stays deleted, after crash, replay, compaction, a lost or old index, and steps of the clock.", []string{
			"e2e.TestKillAndRebuild", "e2e.TestKillDuringCompaction", "e2e.TestCrashDuringSwap", "store.TestSim", "store.TestSegmentsMayBeCompactedInAnyOrder", "store.TestACompactionMayBeCutOffAnywhere"}},
		{"D6", "What is listed can be read, what was acknowledged is listed, and every writer reads what it wrote.", []string{
			"e2e.TestKill", "store.TestReadYourWrites", "store.TestAgainstTheModel"}},
		{"D7", "An upload in parts is completed once and wholly, mixes with no other, is freed by its abort, and outlives restarts.", []string{
			"e2e.TestKill", "store.TestMultipartWhole", "store.TestUnlistedAndReplacedPartsGoAway", "store.TestAbortGivesSpaceBack"}},
		{"D8", "The deletion of a bucket never takes an acknowledged object with it.", []string{
			"store.TestBucketDeletionTakesNoObjectWithIt", "store.TestSim"}},
		{"D9", "Any damage is found within one pass of the scrubber, which accuses nothing that is whole and removes nothing.", []string{
			"e2e.TestCorruptOffline", "e2e.TestCorruptChurn", "scrubber.TestDamageIsFoundInOnePass", "scrubber.TestWhatIsInUseIsNeverAccused",
			"scrubber.TestAFindingHealsWhenItsVersionIsStoredAgain"}},
		{"D10", "The scrubber reads the disk and not the memory, all of it, within its period, or raises an alarm, and stays out of the way.", []string{
			"e2e.TestCorruptLive", "e2e.TestCorruptHeld", "scrubber.TestAPassTakesItsPeriod", "scrubber.TestAPassGoesOnBehindAPauseAndARestart",
			"scrubber.TestLateRaisesTheAlarm", "scrubber.TestLatencyDuringAPass"}},
		{"D15", "An index that was lost, damaged or is old is made again from segments and blobs, and says the same.", []string{
			"e2e.TestKillAndRebuild", "e2e.TestCorruptIndex", "store.TestStateSurvivesRestartCrashAndALostIndex", "store.TestSim"}},
	}
}

// running is what holds for disk, process and start.
func running() []invariant {
	return []invariant{
		{"D11", "On a full disk puts are refused with a clear code, reads and deletions go on, and writing resumes by itself.", []string{
			"e2e.TestFullDisk", "e2e.TestFaultFull", "store.TestAFullDiskRefusesPutsAndTakesDeletions"}},
		{"D12", "After a failed write or sync nothing more is acknowledged until a restart, reads go on, and the health page says why.", []string{
			"e2e.TestPowerCutAfterFailedSync", "e2e.TestFaultFailedWrite", "e2e.TestFaultFailedRead", "store.TestAFailedSyncIsFinal", "store.TestSimErrors"}},
		{"D13", "Without file descriptors requests are refused and leave nothing behind; a read-only disk is served read-only.", []string{
			"e2e.TestFaultDescriptors", "e2e.TestFaultReadOnlyMount"}},
		{"D14", "A missing mount, an empty or foreign folder, or an index ahead of its journal stops the start and says what to do.", []string{
			"e2e.TestFaultRefusedStart", "store.TestBrakes", "cmd/appliance/internal/server.TestUnmountedAbove"}},
		{"D16", "A second process on the same folder is refused, also after kill -9.", []string{
			"store.TestASecondProcessIsRefused", "store/vfs.TestLock"}},
		{"D17", "Order comes from sequence numbers: a wrong clock loses nothing and expires nothing early.", []string{
			"store.TestClocksOrderNothing", "store.TestOldUploadsExpire"}},
		{"D18", "A crash in the middle of a change of format leaves the old format or the new one.", []string{
			"e2e.TestCrashDuringMigration", "store/index.TestFormats", "auth.TestSchemaOfTheFirstRelease"}},
		{"D19", "Memory is bounded for each connection, and no operation needs memory in proportion to objects or parts.", []string{
			"store/index.TestListBoundsMemory", "store.TestLargeRowsDoNotFillTheCache", "e2e.TestLargeObject", "e2e.TestScale"}},
		{"D20", "A start after a crash takes time in proportion to what was in flight.", []string{
			"cmd/appliance.TestStartAfterKill", "e2e.TestScale"}},
		{"D21", "A backup, or a copy of the folder made in any order while Larder runs, restores to a consistent state.", []string{
			"cmd/appliance.TestCopyOfALiveFolder", "cmd/appliance/internal/backup.TestBackupUnderLoad", "cmd/appliance/internal/backup.TestInterrupted"}},
		{"D22", "The index never stands ahead of the durable journal.", []string{
			"store.TestSim", "store.TestBrakes", "e2e.TestPowerCutOfOneDisk"}},
		{"D23", "A broken record before the tail stops the start and is named; it is never skipped, nor is a torn tail taken for one.", []string{
			"store/journal.TestFlipsBeforeTheTail", "store/journal.TestFlipsInTheTail", "store/journal.TestTornAtEveryByte", "store/journal.TestSwappedRecords"}},
	}
}
