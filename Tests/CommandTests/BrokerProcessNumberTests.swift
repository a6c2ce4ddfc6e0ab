import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("The number of the broker's process", .someAtATime)
final class BrokerProcessNumberTests: FolderSuite {
    /// Answers a command as a broker does that says it is process `pid`. Returns how the command ended.
    private func answer(_ words: [String], pid: Int32) throws -> Finished {
        let listener = try UnixSocket.listen(path: folder.socket)
        defer { SystemCalls.remove(folder.socket) }
        let run = try Run(words, in: folder)
        let peer = try LinePeer.accept(listener)
        let version = #""protocol":1,"broker":"plugboard","version":"1","client":1,"features":[]"#
        try peer.send(#"{"event":"hello",\#(version)}"# + "\n")
        while let line = try peer.line() {
            let request = try JSONObject(parsing: line[...])
            let id = request["id"].map { #","id":\#($0.text)"# } ?? ""
            let stats = #""key":"$broker.stats","value":{"pid":\#(pid)}"#
            try peer.send(#"{"ok":"\#(request["op"]?.string ?? "")"\#(id),\#(stats)}"# + "\n")
        }
        return try run.finished()
    }

    @Test("restart sends no signal to a process that isn't the broker, whatever the broker says")
    func restart() throws {
        let other = try Run(program: "/bin/sleep", ["1000"], in: folder)
        let finished = try answer(["restart"], pid: other.pid)
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("the broker's process can't be found from here"))
        #expect(finished.messages.contains("where it runs, SIGUSR2 to it does the same"))
        #expect(other.isRunning)
    }

    @Test("it is confirmed by the kernel or by the lock, for a broker's own socket and for one it was given")
    func confirmed() throws {
        let broker = try startBroker(in: folder)
        let connection = try BrokerConnection(path: folder.socket)
        #expect(connection.peerProcess == broker.pid)
        #expect(BrokerProcess.confirmed(UInt64(broker.pid), by: connection) == broker.pid)
        for told in [nil, 0, 1, UInt64(getpid()), UInt64.max] {
            #expect(BrokerProcess.confirmed(told, by: connection) == nil)
        }
        #if os(Linux)
            #expect(SocketLock.isOpen(in: broker.pid, for: folder.socket))
        #endif
    }
}
