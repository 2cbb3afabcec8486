package client

import (
	"larder/fault"
	"larder/native/wire"
)

// canceled is the error of a request whose context ended.
func canceled(op, resource string, cause error) error {
	return fault.New(op, fault.Canceled, resource, cause).WithHint("The request was given up before it was answered.")
}

// broken is the error of a request whose connection ended. What the server said
// when it ended it is passed on.
func broken(op, resource string, cause error) error {
	hint := fault.HintOf(cause)
	if hint == "" {
		hint = "The connection broke before the request was answered."
	}
	return fault.New(op, fault.Unavailable, resource, cause).WithHint(hint)
}

// refusal is the code of something that was not done, whatever it says.
func refusal(code fault.Code) fault.Code {
	if code == fault.OK {
		return fault.Unavailable
	}
	return code
}

// closed is the error of everything after Close.
func closed() error {
	return fault.New("client", fault.Unavailable, "", nil).WithHint("The client is closed.")
}

// errDone is why a connection ends that nobody needs any more.
func errDone() error {
	return fault.New("client", fault.Unavailable, "", nil).WithHint("The server ended the connection.")
}

// unreadable is the error of an answer that breaks the protocol. What the
// request did is not known.
func unreadable(req *wire.Request, cause error) error {
	return fault.New(name(req), fault.Internal, subject(req), cause).WithHint("The server's answer cannot be understood.")
}

// name is a request's operation in an error.
func name(req *wire.Request) string { return "client." + req.Op.String() }

// subject is what a request is about.
func subject(req *wire.Request) string {
	if req.Key == "" {
		return req.Bucket
	}
	return req.Bucket + "/" + req.Key
}

// tooLong is the error of a request that the protocol has no room for.
func tooLong(req *wire.Request) error {
	return fault.New(name(req), fault.InvalidArgument, subject(req), nil).
		WithHint("The request is too long: it says more than fits into one.")
}

// about makes an error of connecting one of the request that needed the
// connection.
func about(req *wire.Request, err error) error {
	return fault.New(name(req), fault.CodeOf(err), subject(req), err).WithHint(fault.HintOf(err))
}

// unreadableBody is the error of a request whose body the caller could not give.
func unreadableBody(req *wire.Request, cause error) error {
	hint := fault.HintOf(cause)
	if hint == "" {
		hint = "The body could not be read to its end."
	}
	return fault.New(name(req), fault.IncompleteBody, subject(req), cause).WithHint(hint)
}
