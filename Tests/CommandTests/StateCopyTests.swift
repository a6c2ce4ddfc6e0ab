import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

/// No revision is used for two values in one epoch, also if an older copy of the state folder is put back.
@Suite("a state folder that was put back", .someAtATime)
final class StateCopyTests: FolderSuite {
    /// What a client remembers of the bus.
    private struct Place {
        let epoch: String
        let revision: UInt64
    }

    private func start(_ arguments: String...) throws -> Run {
        let broker = try Run(["broker", "--ready", "--socket", folder.socket] + arguments, in: folder)
        try eventually("the broker listens") { broker.output == "ready\n" }
        return broker
    }

    private func end(_ broker: Run, by signal: Int32) throws {
        broker.signal(signal)
        _ = try broker.finished()
    }

    private func place() throws -> Place {
        let greeting = try #require(BrokerLine(Array(try LinePeer(path: folder.socket).text().utf8)[...]))
        let epoch = try #require(greeting["epoch"]?.string)
        return Place(epoch: epoch, revision: try #require(greeting["revision"]?.integer))
    }

    /// Whether a client can go on from a place.
    private func resumes(_ place: Place) throws -> Bool {
        let peer = try LinePeer(path: folder.socket)
        _ = try peer.text()
        try peer.send(
            #"{"op":"subscribe","key":"**","since":\#(place.revision),"epoch":"\#(place.epoch)"}"# + "\n"
        )
        return try peer.text().hasSuffix(#""resumed":true}"#)
    }

    private func shell(_ script: String) throws {
        let finished = try Run(program: "/bin/sh", ["-c", script], in: folder).finished()
        #expect(finished.end == .exited(0), "\(finished.messages)")
    }

    private func publish(_ count: Int) throws {
        for number in 1...count { _ = try run("publish", "k", "\(number)") }
    }

    /// How a copy is made, and how it is put back.
    typealias Way = (copy: String, putBack: String)

    static let anew: [Way] = [
        ("cp -a state old", "rm -rf state; mv old state"),
        ("cp -a state old", "rm -rf state; cp -a old state"),
        ("tar -cf old.tar state", "rm -rf state; tar -xf old.tar"),
    ]
    /// Over the files that are there.
    static let over: [Way] = [
        ("cp -a state old", "cp -a old/. state/"), ("cp -r state old", "cp -r old/. state/"),
        ("tar -cf old.tar state", "tar -xf old.tar"),
    ]

    @Test("is found out however it was copied, and clients begin anew", arguments: anew, [SIGTERM, SIGKILL])
    func putBack(_ way: Way, _ signal: Int32) throws {
        for isRunning in [false, true] {
            var broker = try start()
            try publish(3)
            if isRunning { try shell(way.copy) }
            try end(broker, by: signal)
            if !isRunning { try shell(way.copy) }
            broker = try start()
            try publish(2)
            let place = try place()
            try end(broker, by: signal)
            try shell(way.putBack)
            broker = try start()
            #expect(try self.place().epoch != place.epoch, "\(way) \(signal) \(isRunning)")
            #expect(broker.messages.contains("may be an older copy"))
            #expect(try run("get", "k").output == "3\n")
            try publish(3)
            #expect(try !resumes(place))
            try end(broker, by: SIGTERM)
            try shell("rm -rf state old old.tar")
        }
    }

    @Test(
        "of the broker that wrote last is found out, too, also over the files that are there",
        arguments: anew + over,
        [SIGTERM, SIGKILL]
    )
    func ofLastBroker(_ way: Way, _ signal: Int32) throws {
        var broker = try start()
        try publish(3)
        try shell(way.copy)
        try publish(2)
        let place = try place()
        try end(broker, by: signal)
        try shell(way.putBack)
        broker = try start()
        #expect(try self.place().epoch != place.epoch)
        #expect(try run("get", "k").output == "3\n")
        #expect(try !resumes(place))
        try end(broker, by: SIGTERM)
    }

    @Test("which is only moved keeps its epoch, as after any end of a broker")
    func kept() throws {
        var broker = try start()
        try publish(2)
        let first = try place()
        for signal in [SIGTERM, SIGKILL, SIGKILL, SIGTERM] {
            try end(broker, by: signal)
            broker = try start()
            #expect(try place().epoch == first.epoch)
            #expect(try resumes(first))
            #expect(!broker.messages.contains("epoch"))
        }
        broker.signal(SIGUSR2)
        try eventually("begun anew") { broker.messages.contains("begun anew") }
        #expect(try place().epoch == first.epoch)
        try end(broker, by: SIGTERM)
        try shell("mv state/plugboard/* moved")
        broker = try start("--state", "\(folder.path)/moved")
        #expect(try place().epoch == first.epoch)
        try end(broker, by: SIGTERM)
    }

    @Test("gets a new epoch by hand, once")
    func byHand() throws {
        var broker = try start()
        try publish(2)
        let first = try place()
        #expect(
            try run("journal", "new-epoch", "--socket", folder.socket).messages.contains("a broker uses")
        )
        try end(broker, by: SIGTERM)
        #expect(
            try run("journal", "new-epoch", "--socket", folder.socket).output
                == "the next broker begins a new epoch, after revision 2\n"
        )
        #expect(
            try run("journal", "check", "--socket", folder.socket).lines.last
                == "it may be a copy that was put back: the next broker begins a new epoch"
        )
        broker = try start()
        let second = try place()
        #expect(second.epoch != first.epoch && second.revision == first.revision)
        #expect(try run("get", "k").output == "2\n")
        try end(broker, by: SIGTERM)
        broker = try start()
        #expect(try place().epoch == second.epoch)
        try end(broker, by: SIGTERM)
        #expect(try run("journal", "check", "--socket", folder.socket).lines.count == 1)
        #expect(try run("journal", "new-epochs").end == .exited(64))
        try folder.write("other/file", "")
        for task in ["check", "new-epoch", "repair", "show"] {
            let other = try run("journal", task, "--state", folder("other"))
            #expect(other.end == .exited(1) && other.output.isEmpty, "\(other)")
            #expect(other.messages == "plugboard journal: there is no journal in \(folder("other"))\n")
        }
        for task in ["check", "new-epoch", "repair"] {
            let other = try run("journal", task, folder.path, "--socket", folder.socket)
            #expect(other.end == .exited(64) && other.output.isEmpty)
            #expect(other.messages.contains("the folder of a journal is named by --state DIR"))
        }
    }
}
