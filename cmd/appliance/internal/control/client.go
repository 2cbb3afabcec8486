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

// Ready asks whether the server takes reads and writes, and why not.
func (c *Client) Ready(ctx context.Context) (ready bool, reasons []string, err error) {
	_, body, err := c.exchange(ctx, http.MethodGet, "/readyz", nil)
	if err != nil {
		return false, nil, err
	}
	var answer struct {
		Ready   bool     `json:"ready"`
		Reasons []string `json:"reasons"`
	}
	err = json.Unmarshal(body, &answer)
	return answer.Ready, answer.Reasons, err
}

func (c *Client) exchange(ctx context.Context, method, path string, in any) (status int, body []byte, err error) {
	var send io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return 0, nil, err
		}
		send = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://larder"+path, send)
	if err != nil {
		return 0, nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
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
