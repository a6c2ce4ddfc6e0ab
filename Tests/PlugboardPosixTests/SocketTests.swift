// Where a socket is made, who may use it, and what happens to an earlier file at its path.

import PlugboardPosix
import TestSupport
import Testing

@Suite("sockets", .someAtATime)
struct SocketTests {
    private func variables(_ values: [String: String]) -> (String) -> String? {
        { values[$0] }
    }

    @Test("the path is the given one, or else in the runtime folder, or else in a temporary one")
    func standard() {
        let all = ["PLUGBOARD_SOCKET": "/a/b", "XDG_RUNTIME_DIR": "/run/user/7", "TMPDIR": "/t"]
        #expect(SocketPath.standard(environment: variables(all)) == "/a/b")
        let unnamed = all.merging(["PLUGBOARD_SOCKET": ""]) { $1 }
        #expect(SocketPath.standard(environment: variables(unnamed)) == "/run/user/7/plugboard/bus.sock")
        let slash = ["XDG_RUNTIME_DIR": "/run/"]
        #expect(SocketPath.standard(environment: variables(slash)) == "/run/plugboard/bus.sock")
        let temporary = ["XDG_RUNTIME_DIR": "", "TMPDIR": "/t"]
        #expect(SocketPath.standard(environment: variables(temporary)) == "/t/plugboard-\(getuid())/bus.sock")
        #expect(SocketPath.standard(environment: { _ in nil }) == "/tmp/plugboard-\(getuid())/bus.sock")
    }

    @Test("the folder of a path", arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b", "a")])
    func folder(path: String, folder: String) {
        #expect(SocketPath.folder(of: path) == folder)
    }

    @Test("a path at the limit works, and one more byte is refused with the limit")
    func pathLimit() throws {
        let folder = try TemporaryFolder()
        let name = SocketPath.bytesMax - folder.path.utf8.count - 1
        let longest = folder(String(repeating: "s", count: name))
        let listener = try UnixSocket.listen(path: longest)
        let connection = try UnixSocket.connect(path: longest)
        #expect(connection.raw != listener.raw)
        let tooLong = longest + "s"
        let limit = SocketPath.bytesMax
        let expected = SocketPathError.tooLong(path: tooLong, bytes: limit + 1, limit: limit)
        #expect(throws: expected) { try SocketPath.check(tooLong) }
        #expect(throws: expected) { _ = try UnixSocket.listen(path: tooLong) }
        #expect(throws: expected) { _ = try UnixSocket.connect(path: tooLong) }
        #expect("\(expected)".contains("\(limit)"))
    }

    @Test("the limit counts bytes, not characters")
    func pathLimitInBytes() {
        let path = "/" + String(repeating: "ü", count: SocketPath.bytesMax / 2 + 1)
        #expect(throws: SocketPathError.self) { try SocketPath.check(path) }
    }

    @Test("a missing folder is made for the user alone; a private folder that others can enter is refused")
    func privateFolder() throws {
        let folder = try TemporaryFolder()
        let path = folder("new") + "/bus.sock"
        try SocketPath.prepareFolder(of: path, mustBePrivate: true)
        #expect(TemporaryFolder.mode(folder("new")) == 0o700)
        try SocketPath.prepareFolder(of: path, mustBePrivate: true)
        #expect(SystemCalls.setMode(folder("new"), 0o750))
        #expect(throws: SocketPathError.self) { try SocketPath.prepareFolder(of: path, mustBePrivate: true) }
        try SocketPath.prepareFolder(of: path, mustBePrivate: false)
    }

    @Test("a link in place of a private folder is refused, wherever it leads")
    func linkedFolder() throws {
        let folder = try TemporaryFolder()
        try Folder.make(folder("real"))
        #expect(SystemCalls.makeLink(folder("link"), to: folder("real")))
        let expected = SocketPathError.untrustedFolder(path: folder("link"), reason: "is not a folder")
        #expect(throws: expected) {
            try SocketPath.prepareFolder(of: folder("link") + "/bus.sock", mustBePrivate: true)
        }
    }

    @Test("a folder that can't be made is an error with its path")
    func noFolder() throws {
        let error = #expect(throws: SystemError.self) {
            try SocketPath.prepareFolder(of: "/nowhere/at/all/bus.sock", mustBePrivate: true)
        }
        #expect(error?.subject == "/nowhere/at/all")
    }

    @Test("only the user can use a socket from its first moment; what is made meanwhile has its own mode")
    func permissions() throws {
        let folder = try TemporaryFolder()
        let path = folder("bus.sock")
        let sockets = Modes()
        let folders = Modes()
        let mayEnd = Modes()
        try Background.start {
            var count = 0
            while mayEnd.all.isEmpty {
                if let mode = TemporaryFolder.mode(path) { sockets.add(mode) }
                count += 1
                guard (try? Folder.make(folder("\(count)"))) != nil else { return }
                if let mode = TemporaryFolder.mode(folder("\(count)")) { folders.add(mode) }
            }
        }
        for _ in 0..<200 {
            _ = try UnixSocket.listen(path: path)
            if let mode = TemporaryFolder.mode(path) { sockets.add(mode) }
        }
        // On a busy machine, the other thread may not have begun yet.
        try eventually("the other thread has made a folder") { !folders.all.isEmpty }
        mayEnd.add(0)
        #expect(sockets.all == [0o600])
        #expect(folders.all == [0o700])
    }

    @Test("many listeners at once don't spoil each other's permissions")
    func listenAtOnce() async throws {
        let folder = try TemporaryFolder()
        let modes = Modes()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in 0..<100 {
                        let path = folder("\(worker).\(number)")
                        _ = try UnixSocket.listen(path: path)
                        if let mode = TemporaryFolder.mode(path) { modes.add(mode) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(modes.all == [0o600])
    }

    private static func isRefused(_ path: String) -> Bool {
        do {
            _ = try UnixSocket.connect(path: path)
            return false
        } catch {
            return (error as? SystemError)?.code == ECONNREFUSED
        }
    }

    @Test("a socket left by a dead broker is replaced")
    func stale() throws {
        let folder = try TemporaryFolder()
        let path = folder("bus.sock")
        do { _ = try UnixSocket.listen(path: path) }
        #expect(FileStatus(path: path).kind == .socket)
        // A program that another test is just starting holds the descriptor a moment longer.
        try eventually("nobody listens") { Self.isRefused(path) }
        let listener = try UnixSocket.listen(path: path)
        _ = try UnixSocket.connect(path: path)
        guard case .connection = try UnixSocket.accept(listener.raw) else {
            Issue.record("nobody is waiting")
            return
        }
    }

    @Test("something that is no socket is left alone and reported")
    func notASocket() throws {
        let folder = try TemporaryFolder()
        try folder.write("file", "precious")
        try Folder.make(folder("folder"))
        #expect(SystemCalls.makeLink(folder("link"), to: folder("file")))
        for name in ["file", "folder", "link"] {
            let error = #expect(throws: SystemError.self, "\(name)") {
                _ = try UnixSocket.listen(path: folder(name))
            }
            #expect(error.map { "\($0)".contains("no socket") } == true)
        }
        #expect(FileStatus(path: folder("file")).bytes == 8)
        #expect(FileStatus(path: folder("folder")).kind == .folder)
    }

    @Test("a missing listener is an error with the path")
    func nobody() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: SystemError.self) { _ = try UnixSocket.connect(path: folder("none")) }
        #expect(error?.code == ENOENT)
        #expect(error.map { "\($0)".contains(folder("none")) } == true)
    }

    @Test("a lock has one holder, and is free when the holder releases it")
    func lock() throws {
        let folder = try TemporaryFolder()
        let path = folder("bus.sock")
        do {
            let lock = try SocketLock.acquire(for: path)
            let isHeld = Self.isHeld(lock)
            #expect(isHeld)
            #expect(try !Self.canAcquire(path))
            #expect(try Self.canAcquire(folder("other.sock")))
            Self.keep(lock)
        }
        #expect(TemporaryFolder.mode(path + ".lock") == 0o600)
        #expect(try Self.canAcquire(path))
    }

    @Test("a lock file that is a link is not followed")
    func linkedLock() throws {
        let folder = try TemporaryFolder()
        #expect(SystemCalls.makeLink(folder("bus.sock.lock"), to: folder("elsewhere")))
        #expect(throws: SystemError.self) { _ = try SocketLock.acquire(for: folder("bus.sock")) }
        #expect(FileStatus(path: folder("elsewhere")).kind == .missing)
    }

    private func looksAfter(_ server: ServerSocket, _ report: (String) -> Void = { _ in }) -> Bool {
        guard let fresh = server.check(report) else { return false }
        server.replace(by: fresh)
        return true
    }

    @Test("a server makes its files again when they were removed, and a second server finds them taken")
    func server() throws {
        let folder = try TemporaryFolder()
        let path = folder.socket
        let server = try #require(try ServerSocket(path: path, listener: nil, inheritance: nil))
        #expect(!looksAfter(server))
        for (file, isNew) in [(path, true), (path + ".lock", false)] {
            let number = server.raw
            SystemCalls.remove(file)
            #expect(looksAfter(server) == isNew)
            #expect(server.raw == number)
            #expect(TemporaryFolder.mode(file) == 0o600)
            #expect(try ServerSocket(path: path, listener: nil, inheritance: nil) == nil)
        }
        try server.setOpen(true)
        SystemCalls.remove(path)
        #expect(looksAfter(server))
        #expect(TemporaryFolder.mode(path) == 0o666)
        server.remove()
        #expect(!folder.exists("s"))
    }

    @Test("a server leaves what others have put in the place of its socket, and says so once")
    func replacedServer() throws {
        let folder = try TemporaryFolder()
        let path = folder.socket
        let server = try #require(try ServerSocket(path: path, listener: nil, inheritance: nil))
        SystemCalls.remove(path)
        let other = try UnixSocket.listen(path: path)
        var told: [String] = []
        for _ in 0..<2 { #expect(!looksAfter(server) { told.append($0) }) }
        #expect(told.count == 1)
        #expect(told.first?.contains("something else listens at \(path)") == true)
        server.remove()
        #expect(folder.exists("s"))
        #expect(throws: SocketTaken.self) { _ = try UnixSocket.listen(path: path) }
        withExtendedLifetime(other.raw) {}
    }

    @Test("a vanished peer is an end, never a signal")
    func vanishedPeer() throws {
        let pair = try UnixSocket.pair()
        #expect(shutdown(pair.second.raw, Int32(SHUT_RDWR)) == 0)
        var buffer: [UInt8] = [1]
        let written = pair.first.write(buffer.span)
        #expect(written == .ended)
        var room = buffer.mutableSpan
        let read = pair.first.read(into: &room)
        #expect(read == .ended)
    }

    @Test("nothing to read and no room to write are reported, and nothing waits")
    func wouldBlock() throws {
        let pair = try UnixSocket.pair()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var room = buffer.mutableSpan
        var last = pair.first.read(into: &room)
        #expect(last == .wouldBlock)
        last = .bytes(1)
        while case .bytes = last { last = pair.first.write(buffer.span) }
        #expect(last == .wouldBlock)
    }

    @Test("sockets are closed on exec")
    func closedOnExec() throws {
        let folder = try TemporaryFolder()
        let listener = try UnixSocket.listen(path: folder("bus.sock"))
        let connection = try UnixSocket.connect(path: folder("bus.sock"))
        guard case .connection(let accepted) = try UnixSocket.accept(listener.raw) else {
            Issue.record("nobody is waiting")
            return
        }
        for fd in [listener.raw, connection.raw, accepted.raw] {
            #expect(fcntl(fd, F_GETFD) & FD_CLOEXEC != 0)
            #expect(fcntl(fd, F_GETFL) & O_NONBLOCK != 0)
        }
    }

    private static func canAcquire(_ path: String) throws -> Bool {
        let lock = try SocketLock.acquire(for: path)
        return isHeld(lock)
    }

    private static func isHeld(_ lock: borrowing SocketLock?) -> Bool {
        switch lock {
        case .some: true
        case .none: false
        }
    }

    private static func keep(_ lock: borrowing SocketLock?) {}
}
