// Where the tests find `protocol/` and what is beside the package.

import Foundation

/// The files under test, by their names relative to the package.
enum ProtocolFolder {
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static let jsonTestSuite = package.deletingLastPathComponent()
        .appendingPathComponent("shared/data/json-test-suite/test_parsing")

    static func text(_ name: String) throws -> String {
        String(decoding: try bytes(name), as: UTF8.self)
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: package.appendingPathComponent("protocol/\(name)")))
    }

    /// The names of the files in a folder, sorted.
    static func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    static func transcripts() throws -> [String] {
        try names(in: package.appendingPathComponent("protocol/transcripts"))
            .filter { $0.hasSuffix(".txt") }.map { "transcripts/\($0)" }
    }
}
