// Each test run reads the inputs that the fuzzer found worth keeping.

import PlugboardPosix
import TestSupport
import Testing

@Suite("What the fuzzer kept", .someAtATime)
struct CorpusTests {
    private static let folder = SocketPath.folder(of: #filePath) + "/Corpus"

    @Test("every input of the corpus is read without harm", arguments: FuzzTarget.allCases)
    func corpus(_ target: FuzzTarget) throws {
        let folder = "\(Self.folder)/\(target.rawValue)"
        let names = try Folder.names(in: folder)
        #expect(names.count >= 5)
        for name in names.sorted() {
            let bytes = try InputFile.contents(path: "\(folder)/\(name)", limit: 1 << 20)
            target.run(bytes)
        }
    }

    @Test("cut anywhere, or with any byte changed, they do no harm", arguments: FuzzTarget.allCases)
    func changed(_ target: FuzzTarget) throws {
        let folder = "\(Self.folder)/\(target.rawValue)"
        for name in try Folder.names(in: folder).sorted().prefix(12) {
            var bytes = Array(try InputFile.contents(path: "\(folder)/\(name)", limit: 1 << 20).prefix(300))
            for end in bytes.indices { target.run(Array(bytes[..<end])) }
            for index in bytes.indices {
                let byte = bytes[index]
                bytes[index] = byte &+ UInt8(index % 255) &+ 1
                target.run(bytes)
                bytes[index] = byte
            }
        }
    }
}
