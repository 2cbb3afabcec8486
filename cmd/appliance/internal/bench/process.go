package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, which the kernel fixes at 100 Hz for
// programs (USER_HZ).
const tick = 10 * time.Millisecond

// cpuTime is what a process has used so far, user and system.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may hold anything: the fields that
	// count stand behind the last one, utime and stime as the 14th and 15th of all.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

// memory is the resident memory of a process in bytes, now and at its highest.
type memory struct{ now, peak int64 }

func memoryOf(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	var m memory
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.now = kib << 10
		case "VmHWM":
			m.peak = kib << 10
		}
	}
	if m.now == 0 || m.peak == 0 {
		return m, fmt.Errorf("/proc/%d/status does not tell the memory", pid)
	}
	return m, nil
}

// forgetPeak lets the peak begin again at what is resident now: 5 in clear_refs,
// proc(5). Where the kernel does not let it, the peak is that of the whole life.
func forgetPeak(pid int) { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) }
