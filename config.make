# Flags for our objects only. Names stay inside the module, and a warning of a
# compiler we have not met does not break a user's build.
petstore_objs=
for src in $petstore_srcs; do
    case $src in
        */src/*) obj=addon/$(basename "$(dirname "$src")")/$(basename "$src" .cpp).o ;;
        *)       obj=addon/$(basename "$ngx_addon_dir")/$(basename "$src" .cpp).o ;;
    esac
    petstore_objs="$petstore_objs $NGX_OBJS/$obj"
done

cat << END                                                    >> $NGX_MAKEFILE

$petstore_objs:	CFLAGS += -Wno-error -fvisibility=hidden $PETSTORE_CXXFLAGS
END
