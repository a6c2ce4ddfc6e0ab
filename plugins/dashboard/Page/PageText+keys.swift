// Made by .ci/page from plugins/dashboard/page/keys.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let keysJS: StaticString = ##"""
// stub
"""##
}
