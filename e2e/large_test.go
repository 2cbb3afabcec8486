package e2e_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	largeBytes     = 2 << 30
	largePartBytes = 64 << 20
	allowedGrowth  = 32 << 20
)

// TestLargeObject moves 2 GiB up and down, by a single put and by a multipart
// upload, and looks what that costs the server in memory.
func TestLargeObject(t *testing.T) {
	heavy(t)
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/large", nil)
	c.must(http.StatusOK, http.MethodPut, "/large/warm", []byte("up"))
	c.must(http.StatusOK, http.MethodGet, "/large/warm", nil)
	idle := memoryOf(t, s.pid()).now
	forgetPeak(t, s.pid())
	t.Logf("idle: %s resident", mib(idle))

	steps := []struct {
		name string
		run  func(*s3Client)
	}{
		{"single put", putLarge}, {"its get", func(c *s3Client) { getLarge(c, "/large/single", payload("single", 0, largeBytes)) }},
		{"multipart put", putLargeParts}, {"its get", func(c *s3Client) { getLarge(c, "/large/parts", largeParts()) }},
	}
	for _, step := range steps {
		stop := watchMemory(t, s.pid())
		began := time.Now()
		step.run(c)
		took := time.Since(began).Seconds()
		t.Logf("%s: %.1f s, %.0f MB/s, resident at most %s over idle", step.name, took, largeBytes/1e6/took, mib(stop()-idle))
		if t.Failed() {
			return
		}
	}
	after := memoryOf(t, s.pid())
	t.Logf("afterwards: %s resident, the kernel's peak %s, which is %s over idle", mib(after.now), mib(after.peak), mib(after.peak-idle))
	if after.peak-idle > allowedGrowth {
		t.Errorf("resident memory grew by %s, %s are allowed", mib(after.peak-idle), mib(allowedGrowth))
	}
}

func putLarge(c *s3Client) {
	c.t.Helper()
	a, err := c.try(c.t.Context(), http.MethodPut, "/large/single", payload("single", 0, largeBytes), largeBytes)
	if err != nil || a.status != http.StatusOK {
		c.t.Errorf("single put: %v, %v", a, err)
	}
}

// putLargeParts uploads four parts at a time.
func putLargeParts(c *s3Client) {
	c.t.Helper()
	const parts, lanes = largeBytes / largePartBytes, 4
	var started struct {
		UploadID string `xml:"UploadId"`
	}
	a := c.must(http.StatusOK, http.MethodPost, "/large/parts?uploads=", nil)
	if err := xml.Unmarshal(a.body, &started); err != nil {
		c.t.Error(err)
		return
	}
	etags := [parts + 1]string{}
	atOnce(lanes, func(lane int) error {
		for n := lane + 1; n <= parts; n += lanes {
			target := fmt.Sprintf("/large/parts?partNumber=%d&uploadId=%s", n, started.UploadID)
			a, err := c.try(c.t.Context(), http.MethodPut, target, payload("part", n, largePartBytes), largePartBytes)
			if err != nil || a.status != http.StatusOK {
				c.t.Errorf("part %d: %v, %v", n, a, err)
				return err
			}
			etags[n] = a.header.Get("ETag")
		}
		return nil
	})
	began := time.Now()
	a = c.must(http.StatusOK, http.MethodPost, "/large/parts?uploadId="+started.UploadID, completeXML(etags[1:]))
	c.t.Logf("Complete of %d parts: %.1f ms", parts, time.Since(began).Seconds()*1000)
	if !strings.Contains(string(a.body), fmt.Sprintf("-%d", parts)) {
		c.t.Errorf("Complete answered %v", a)
	}
}

// completeXML lists the parts 1, 2, … for CompleteMultipartUpload.
func completeXML(etags []string) []byte {
	var b strings.Builder
	b.WriteString("<CompleteMultipartUpload>")
	for i, etag := range etags {
		fmt.Fprintf(&b, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", i+1, etag)
	}
	b.WriteString("</CompleteMultipartUpload>")
	return []byte(b.String())
}

// largeParts is what the parts make together.
func largeParts() io.Reader {
	var all []io.Reader
	for n := 1; n <= largeBytes/largePartBytes; n++ {
		all = append(all, payload("part", n, largePartBytes))
	}
	return io.MultiReader(all...)
}

// getLarge reads an object and compares every byte, without holding it.
func getLarge(c *s3Client, target string, want io.Reader) {
	c.t.Helper()
	resp, err := c.http.Do(c.request(c.t.Context(), http.MethodGet, target, nil, 0))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ContentLength != largeBytes {
		c.t.Errorf("GET %s: %s, %d bytes", target, resp.Status, resp.ContentLength)
		return
	}
	if err := sameStream(resp.Body, want); err != nil {
		c.t.Errorf("GET %s: %v", target, err)
	}
}
