package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"
	"time"

	"larder/fault"
)

const (
	timeout   = 30 * time.Second
	maxAnswer = 64 << 20 // bytes
)

// Client speaks the admin API with the server that runs on a data folder.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a client for the socket at path. It does not connect yet.
func NewClient(path string) *Client {
	return &Client{socket: path, http: &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dial(ctx, path)
			},
		},
	}}
}

// Call makes one request. in is sent as JSON unless nil; the answer is decoded
// into out unless nil. An error of the server is its public message.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	status, body, err := c.exchange(ctx, method, path, in)
	if err != nil {
		return err
	}
	if status >= http.StatusBadRequest {
		return refusal(status, body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(body, out)
}

// Health is how a server is.
type Health struct {
	Ready    bool     `json:"ready"`    // it takes reads and writes
	Reasons  []string `json:"reasons"`  // why it does not
	Warnings []string `json:"warnings"` // what somebody should look at all the same
}

// Health asks how the server is.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	_, body, err := c.exchange(ctx, http.MethodGet, "/readyz", nil)
	if err == nil {
		err = json.Unmarshal(body, &h)
	}
	return h, err
}

// Running tells whether a server answers on the folder, be it that it is still
// starting.
func (c *Client) Running(ctx context.Context) (bool, error) {
	_, err := c.Health(ctx)
	if fault.CodeOf(err) == fault.Unavailable {
		return false, nil
	}
	return err == nil, err
}

// Follow makes a request that is answered line by line, however long it takes.
// Each progress is handed to say; the result is decoded into out. When ctx ends,
// so does the work of the server.
func (c *Client) Follow(ctx context.Context, path string, in any, say func(json.RawMessage), out any) error {
	req, err := c.request(ctx, http.MethodPost, path, in)
	if err != nil {
		return err
	}
	patient := *c.http
	patient.Timeout = 0
	resp, err := patient.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return err
		}
		return refusal(resp.StatusCode, body)
	}
	return follow(resp.Body, say, out)
}

func follow(body io.Reader, say func(json.RawMessage), out any) error {
	for lines := json.NewDecoder(body); ; {
		var line struct {
			Progress, Done json.RawMessage
			Error          *struct{ Code, Message string }
		}
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("the server stopped before it had finished")
		case err != nil:
			return err
		case line.Error != nil:
			return errors.New(line.Error.Message)
		case line.Done != nil:
			return json.Unmarshal(line.Done, out)
		case line.Progress != nil && say != nil:
			say(line.Progress)
		}
	}
}

func (c *Client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var send io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://larder"+path, send)
	if err == nil && in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

func (c *Client) exchange(ctx context.Context, method, path string, in any) (status int, body []byte, err error) {
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, c.unreachable(err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, body, err
}

// unreachable explains why there is nobody at the socket.
func (c *Client) unreachable(err error) error {
	const op = "control.Client"
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fault.New(op, fault.Unavailable, c.socket, err).
			WithHint("No server runs on this data folder. Start `larder serve`, or name the folder with --data or LARDER_DATA.")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(op, fault.Denied, c.socket, err).
			WithHint("Only the user that runs the server may use this command.")
	}
	return err
}

// refusal is the message of an error answer.
func refusal(status int, body []byte) error {
	var answer struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Message == "" {
		return fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
	}
	return errors.New(answer.Error.Message)
}
