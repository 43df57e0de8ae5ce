/**
 * How messages are spelled in JSON: proto field names, empty and false fields written out, unknown fields refused. Every
 * registration takes these; Connect's own default ignores unknown fields, and with them an unknown enum name.
 */
export const JSON_OPTIONS = { ignoreUnknownFields: false, useProtoFieldName: true, alwaysEmitImplicit: true } as const;
