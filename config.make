# Flags for our objects only. Symbols stay hidden, and a warning from a compiler
# that we have not tested does not break a user's build.
petstore_objs=
for src in $petstore_srcs; do
    case $src in
        */src/*) obj=addon/$(basename "$(dirname "$src")")/$(basename "$src" .cpp).o ;;
        *)       obj=addon/$(basename "$ngx_addon_dir")/$(basename "$src" .cpp).o ;;
    esac
    petstore_objs="$petstore_objs $NGX_OBJS/$obj"
done

# Parsed once for all objects. A compiler that cannot use the result includes the
# header itself.
petstore_pch=$NGX_OBJS/petstore_standard.h

cat << END                                                    >> $NGX_MAKEFILE

$petstore_objs $petstore_pch.gch:	CFLAGS += -Wno-error -fvisibility=hidden $PETSTORE_CXXFLAGS
$petstore_objs:	private CFLAGS += -include $petstore_pch
$petstore_objs:	$petstore_pch.gch

$petstore_pch:	$ngx_addon_dir/src/ngx_base/standard.h
	cp $ngx_addon_dir/src/ngx_base/standard.h \$@

$petstore_pch.gch:	$petstore_pch $NGX_OBJS/ngx_auto_config.h
	\$(CC) -c \$(CFLAGS) -x c++-header -o \$@ $petstore_pch
END
