// A small bus that has something of everything: observers, slow readers, calls, gates, plugins and quotas.

import PlugboardPosix
import PlugboardWire
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

/// A bus with something of everything.
final class BusyBus {
    let bare = TestHub()
    var hub: Hub {
        _read { yield bare.hub }
        _modify { yield &bare.hub }
    }
    /// Writes bound values and durable ones.
    let writer: SessionHandle
    /// Observes keys and patterns, with `every`, and traces.
    let observer: SessionHandle
    /// Has stopped reading. It is owed keys, lines, a snapshot and a reply.
    let slow: SessionHandle
    /// Acknowledges. Others wait for it.
    let tax: SessionHandle
    /// Calls other clients, and has a quota.
    let guest: SessionHandle
    /// A client that has left.
    let stale: SessionHandle

    init() throws {
        bare.hub.supervision.supervisor = 7
        bare.hub.supervision.sessionOf = { $0 }
        bare.hub.follow(try Policy.read(Self.policy))
        var records = RecordBuffer()
        records.begin(FileHeader(kind: .segment, segment: 1, epoch: "e", revision: 0))
        bare.hub.durability.begin(nil, records)
        writer = bare.client(process: 1)
        observer = bare.client(process: 2)
        slow = bare.client(process: 3)
        tax = bare.client(process: 4)
        guest = bare.client(user: 9, process: 5)
        stale = bare.client(process: 6)
        bare.forget(stale)
        publishAndObserve()
        fallBehind()
        callAndServe(supervisor: bare.client(process: 7))
        bare.take("publish a.plain 4", from: writer)
        endTurn()
    }

    private static let policy = #"""
        {"rules":[{"allow":{"everything":["**"]}},{"user":"*","allow":{"everything":["**"]}}],
         "quotas":[{"user":9,"keys":10}]}
        """#

    /// Ends a turn in which all clients that read have read.
    func endTurn() {
        for index in 0..<hub.delivery.dirty.count {
            let session = hub.delivery.dirty[index]
            hub.keepUnsent(of: session)
            if session != slow, hub.sessions[session].isBehind { hub.settle(session) }
        }
        bare.dropTurn()
    }

    private func publishAndObserve() {
        for line in [
            "publish a.plain 1", "publish a.gone 1", "publish a.log 1",
            #"{"op":"publish","key":"a.timed","value":1,"ttl":60000}"#,
            #"{"op":"publish","key":"a.bound","value":1,"while":"connected"}"#, "delete a.gone",
            #"{"op":"publish","key":"a.sure","value":1,"durable":true}"#,
        ] { bare.take(line, from: writer) }
        for line in [
            "subscribe a.plain", "subscribe a.**", #"{"op":"subscribe","key":"rhythm","every":60000}"#,
            "trace traced", #"{"op":"subscribe","key":"gate","phase":2}"#,
        ] { bare.take(line, from: observer) }
        bare.take(#"{"op":"subscribe","key":"gate","phase":1,"ack":true}"#, from: tax)
        endTurn()
        for line in ["publish a.plain 2", "publish rhythm 1", "publish gate 1"] {
            bare.take(line, from: writer)
        }
        bare.take("publish mine 1", from: guest)
        endTurn()
    }

    private func fallBehind() {
        bare.take("subscribe a.plain", from: slow)
        bare.take(#"{"op":"subscribe","key":"a.log","delivery":"all"}"#, from: slow)
        endTurn()
        hub.sessions[slow].isBehind = true
        bare.take("publish a.plain 3", from: writer)
        bare.take("publish a.log 2", from: writer)
        bare.take("subscribe a.*", from: slow)
        endTurn()
    }

    private func callAndServe(supervisor: SessionHandle) {
        let plugin = #"{"name":"lamp","state":"running","pid":1200,"may":{"serve":["lamp.*"]}}"#
        bare.take(
            #"{"op":"publish","key":"$broker.plugins.lamp","value":\#(plugin),"while":"connected"}"#,
            from: supervisor
        )
        bare.take("serve sum", from: writer)
        for key in ["sum", "lamp.set"] {
            bare.take(#"{"op":"call","id":1,"key":"\#(key)","timeout":60000}"#, from: guest)
        }
    }

    func observable(_ key: String) throws -> ObservableHandle {
        let bytes = Array(key.utf8)
        return try there(hub.keyspace.find(bytes.span))
    }

    /// What must be there.
    func there<Part>(_ part: Part?) throws -> Part { try #require(part) }

    /// A subscription by its place in its session's list.
    func subscription(_ place: Int, of session: SessionHandle) -> SubscriptionHandle {
        hub.sessions[session].subscriptions.list[place]
    }
}
