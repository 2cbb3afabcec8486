package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"larder/client"
	"larder/fault"
)

// open is how each example begins.
func open() *client.Client {
	c, err := client.New(client.Config{
		Addr:  os.Getenv("LARDER_ADDR"), // "nas.lan:9002"
		KeyID: os.Getenv("LARDER_KEY"), Secret: os.Getenv("LARDER_SECRET"),
		Program: "example/1.0",
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func Example() {
	c, ctx := open(), context.Background()
	defer c.Close()
	if _, err := c.CreateBucket(ctx, "notes"); err != nil && fault.CodeOf(err) != fault.BucketExists {
		log.Fatal(err)
	}
	if _, err := c.Put(ctx, "notes", "hello.txt", strings.NewReader("Hello, larder."), nil); err != nil {
		log.Fatal(err) // nothing was stored
	}
	r, err := c.Get(ctx, "notes", "hello.txt", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r) // fails where a byte is not the one that was sent
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s (%d bytes)\n", text, r.Info().Size)
	// Output: Hello, larder. (14 bytes)
}

// A key is taken once, however many try.
func ExampleClient_Put_ifAbsent() {
	c, ctx := open(), context.Background()
	defer c.Close()
	_, _ = c.CreateBucket(ctx, "locks")
	for range 2 {
		_, err := c.Put(ctx, "locks", "the-one", strings.NewReader("mine"), &client.PutOptions{IfAbsent: true})
		var f *fault.Error
		switch {
		case err == nil:
			fmt.Println("taken")
		case errors.As(err, &f) && f.Code == fault.Precondition:
			fmt.Println("somebody was faster")
		default:
			log.Fatal(err)
		}
	}
	// Output:
	// taken
	// somebody was faster
}

// Part of an object, straight into a writer.
func ExampleClient_Get_range() {
	c, ctx := open(), context.Background()
	defer c.Close()
	_, _ = c.CreateBucket(ctx, "parts")
	if _, err := c.Put(ctx, "parts", "abc", strings.NewReader("abcdefghij"), nil); err != nil {
		log.Fatal(err)
	}
	r, err := c.Get(ctx, "parts", "abc", &client.GetOptions{Range: client.Span(3, 4)})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if _, err := r.WriteTo(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output: defg
}

func ExampleClient_List() {
	c, ctx := open(), context.Background()
	defer c.Close()
	_, _ = c.CreateBucket(ctx, "photos")
	for _, key := range []string{"2024/a.jpg", "2025/a.jpg", "2025/b.jpg", "index.html"} {
		if _, err := c.Put(ctx, "photos", key, strings.NewReader(key), nil); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range c.List(ctx, "photos", client.ListOptions{Delimiter: "/"}) {
		switch {
		case err != nil:
			log.Fatal(err)
		case e.Prefix != "":
			fmt.Println(e.Prefix)
		default:
			fmt.Println(e.Key, e.Size)
		}
	}
	// Output:
	// 2024/
	// 2025/
	// index.html 10
}

// A large object in parts. Each part may be sent again if it fails, and several
// may be sent at a time.
func ExampleClient_CreateUpload() {
	c, ctx := open(), context.Background()
	defer c.Close()
	_, _ = c.CreateBucket(ctx, "disks")
	id, err := c.CreateUpload(ctx, "disks", "image", nil)
	if err != nil {
		log.Fatal(err)
	}
	var parts []client.CompletePart
	for number := 1; number <= 2; number++ {
		p, err := c.PutPart(ctx, "disks", "image", id, number, bytes.NewReader(make([]byte, 5<<20)), nil)
		if err != nil {
			log.Fatal(err)
		}
		parts = append(parts, client.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	o, err := c.CompleteUpload(ctx, "disks", "image", id, parts, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Size, "bytes")
	// Output: 10485760 bytes
}

func ExampleClient_Watch() {
	c, ctx := open(), context.Background()
	defer c.Close()
	_, _ = c.CreateBucket(ctx, "inbox")
	w, err := c.Watch(ctx, "inbox", "new/", 0)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	if _, err := c.Put(ctx, "inbox", "new/letter", strings.NewReader("Dear"), nil); err != nil {
		log.Fatal(err)
	}
	if err := c.Delete(ctx, "inbox", "new/letter", nil); err != nil {
		log.Fatal(err)
	}
	for removed := false; !removed; {
		e, err := w.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		switch {
		case e.Gap: // the server has forgotten some of it
			fmt.Println("list anew")
		case e.Kind == client.Stored:
			fmt.Println("stored", e.Key)
		default:
			fmt.Println("removed", e.Key)
			removed = true
		}
	}
	// Output:
	// stored new/letter
	// removed new/letter
}
